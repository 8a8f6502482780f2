// kernelmap as git's external diff (gitattributes: diff=kernelmap). git gives up where such a
// program fails, so whatever cannot be compared is shown as git itself would.
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "cli/diff_command.h"
#include "cli/git.h"
#include "cli/output.h"
#include "compiler/compile.h"

namespace kernelmap {
namespace {

constexpr size_t kMaxPatch = 256u << 20;
const char* const kNothing = "/dev/null";

// What git would have shown.
int PlainDiff(const std::string& path, const std::string& before, const std::string& after) {
  const ProgramOutput patch = RunGit({"diff", "--no-index", "--no-ext-diff", "--no-textconv",
                                      "--src-prefix=a/", "--dst-prefix=b/", "--", before, after},
                                     kMaxPatch);
  if (patch.exit_code < 0 || patch.exit_code > 1) return UsageError(patch.error);
  return WriteResult("-", path + "\n" + patch.out);
}

bool ReadOne(const std::string& path, const std::string& file, const Environment& environment,
             Operand* operand) {
  operand->label = path;
  if (file == kNothing) return true;
  std::string error;
  std::optional<std::string> bytes = ReadFile(file, kReportLimits.bytes, &error);
  if (!bytes) {
    UsageError(error);
    return false;
  }
  std::vector<Diagnostic> diagnostics;
  std::optional<Operand> read =
      ReadOperand({path, path, path}, std::move(*bytes), environment, &diagnostics);
  PrintDiagnostics(diagnostics);
  if (read) *operand = std::move(*read);
  return read.has_value();
}

}  // namespace

int RunGitDriver(const Args& args) {
  // PATH alone: unmerged. Nine: a renamed file, its new path, and how much of it is the same.
  const std::vector<std::string>& words = args.inputs;
  if (words.size() == 1) return WriteResult("-", "unmerged: " + words[0] + "\n");
  if (words.size() != 7 && words.size() != 9) {
    return UsageError("--git-driver is for git, which gives 7 arguments: docs/review.md");
  }
  const std::string &path = words[0], &old_file = words[1], &new_file = words[4];
  const std::string& new_path = words.size() == 9 ? words[7] : path;
  std::vector<Diagnostic> diagnostics;
  std::string error;
  const std::optional<Environment> environment = ReadEnvironment(&diagnostics, &error);
  PrintDiagnostics(diagnostics);
  Operand before, after;
  if (!environment || !ReadOne(path, old_file, *environment, &before) ||
      !ReadOne(new_path, new_file, *environment, &after)) {
    if (!error.empty()) UsageError(error);
    return PlainDiff(path, old_file, new_file);
  }
  // A config that is not there is the built-in mapping.
  if (before.kind == SideKind::kNone && after.kind == SideKind::kConfig) {
    before.kind = SideKind::kConfig;
    before.label = "built-in mapping";
  } else if (after.kind == SideKind::kNone && before.kind == SideKind::kConfig) {
    after.kind = SideKind::kConfig;
    after.label = "built-in mapping";
  }
  int code = 0;
  const std::optional<Diff> diff =
      DiffOperands(args, std::move(before), std::move(after), *environment, &code);
  if (!diff) return PlainDiff(path, old_file, new_file);
  const char* no_color = std::getenv("NO_COLOR");
  const bool color =
      (isatty(STDOUT_FILENO) || std::getenv("GIT_PAGER_IN_USE")) && !(no_color && *no_color);
  if ((code = WriteResult("-", RenderDiff(*diff, args.format, color)))) return code;
  return DiffExitCode(*diff, args);
}

}  // namespace kernelmap
