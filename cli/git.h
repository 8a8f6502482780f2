// Files as git has them. git is run with its arguments, never through a shell.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kernelmap {

/// git:REV:PATH as it stands on a command line. PATH counts from the top of the repository, or
/// from here where it begins with ./ or ../, as for git itself; without REV it is the index's.
struct GitFile {
  std::string revision, path;
};

/// Nothing where the operand does not begin with "git:". Without a second colon the path is empty.
std::optional<GitFile> ParseGitFile(std::string_view operand);

/// The content of a file, at most `limit` + 1 bytes of it. Nothing, and a message for people in
/// `error`, where git is not there, or does not know the revision or the file.
std::optional<std::string> ReadGitFile(const GitFile& file, size_t limit, std::string* error);

/// Where the file lies, or would, in the working tree, seen from here.
std::string PathHere(const GitFile& file);

struct ProgramOutput {
  int exit_code = -1;  // -1: it did not run, or did not end by itself
  std::string out;     // at most `limit` + 1 bytes; then the program is ended
  std::string error;   // what it wrote to standard error, or why it did not run
};

/// Runs git and takes what it prints.
ProgramOutput RunGit(const std::vector<std::string>& arguments, size_t limit);

}  // namespace kernelmap
