#include "cli/git.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

extern char** environ;

namespace kernelmap {
namespace {

constexpr size_t kMaxMessage = 4096;

// Both ends of a pipe; neither goes to programs by itself.
struct Pipe {
  Pipe() { open = pipe2(ends, O_CLOEXEC) == 0; }
  ~Pipe() {
    if (!open) return;
    close(ends[0]);
    CloseWriter();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void CloseWriter() {
    if (ends[1] >= 0) close(ends[1]);
    ends[1] = -1;
  }
  int ends[2] = {-1, -1};
  bool open = false;
};

// git that neither asks, nor fetches, nor speaks another language.
std::vector<std::string> Environment() {
  std::vector<std::string> variables = {"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1",
                                        "GIT_OPTIONAL_LOCKS=0"};
  const size_t ours = variables.size();
  for (char** variable = environ; *variable; ++variable) {
    const std::string_view text = *variable;
    bool replaced = false;
    for (size_t i = 0; i < ours; ++i) {
      replaced |= text.starts_with(variables[i].substr(0, variables[i].find('=') + 1));
    }
    if (!replaced) variables.emplace_back(text);
  }
  return variables;
}

std::vector<char*> Pointers(std::vector<std::string>* texts) {
  std::vector<char*> pointers;
  for (std::string& text : *texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

pid_t Start(const std::vector<std::string>& arguments, const Pipe& out, const Pipe& error,
            int* failure) {
  std::vector<std::string> words = {"git"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> environment = Environment();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, error.ends[1], STDERR_FILENO);
  pid_t child = -1;
  *failure = posix_spawnp(&child, "git", &actions, nullptr, Pointers(&words).data(),
                          Pointers(&environment).data());
  posix_spawn_file_actions_destroy(&actions);
  return *failure == 0 ? child : -1;
}

// Reads both until both end. False when `out` became longer than its limit.
bool ReadBoth(int out, int error, size_t limit, ProgramOutput* output) {
  std::array<pollfd, 2> waits = {{{out, POLLIN, 0}, {error, POLLIN, 0}}};
  char buffer[1 << 16];
  while (waits[0].fd >= 0 || waits[1].fd >= 0) {
    if (poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) return true;
    for (size_t i = 0; i < waits.size(); ++i) {
      if (waits[i].fd < 0 || waits[i].revents == 0) continue;
      const ssize_t got = read(waits[i].fd, buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        waits[i].fd = -1;  // which poll passes over
        continue;
      }
      std::string& text = i == 0 ? output->out : output->error;
      if (i == 0 || text.size() < kMaxMessage) text.append(buffer, static_cast<size_t>(got));
      if (i == 0 && text.size() > limit) return false;
    }
  }
  return true;
}

// The first line of what git said, without its "fatal: ".
std::string FirstLine(std::string text) {
  text.resize(std::min(text.find('\n'), text.size()));
  if (text.starts_with("fatal: ")) text.erase(0, 7);
  return text;
}

}  // namespace

ProgramOutput RunGit(const std::vector<std::string>& arguments, size_t limit) {
  ProgramOutput output;
  Pipe out, error;
  int failure = errno;
  const pid_t child = out.open && error.open ? Start(arguments, out, error, &failure) : -1;
  if (child < 0) {
    output.error = std::string("cannot run git: ") + std::strerror(failure);
    return output;
  }
  out.CloseWriter();
  error.CloseWriter();
  const bool whole = ReadBoth(out.ends[0], error.ends[0], limit, &output);
  if (!whole) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!whole) {
    output.exit_code = 0;  // there is more than anybody wants
  } else if (WIFEXITED(status)) {
    output.exit_code = WEXITSTATUS(status);
  }
  return output;
}

std::optional<GitFile> ParseGitFile(std::string_view operand) {
  constexpr std::string_view kScheme = "git:";
  if (!operand.starts_with(kScheme)) return std::nullopt;
  operand.remove_prefix(kScheme.size());
  const size_t colon = std::min(operand.find(':'), operand.size());
  GitFile file;
  file.revision = operand.substr(0, colon);
  if (colon < operand.size()) file.path = operand.substr(colon + 1);
  return file;
}

std::optional<std::string> ReadGitFile(const GitFile& file, size_t limit, std::string* error) {
  const auto fail = [&](const std::string& reason) {
    *error = "cannot read `git:" + file.revision + ":" + file.path + "`: " + reason;
    return std::nullopt;
  };
  if (file.path.empty()) return fail("write git:REVISION:PATH");
  if (file.revision.starts_with("-")) return fail("no revision begins with `-`");
  ProgramOutput output = RunGit({"cat-file", "blob", file.revision + ":" + file.path}, limit);
  if (output.exit_code == 0) return std::move(output.out);
  const std::string reason = FirstLine(output.error);
  if (reason.ends_with("bad file")) return fail("not a file");
  if (reason.find("does not exist") == reason.npos || file.path.starts_with(".")) {
    return fail(reason.empty() ? "git failed" : reason);
  }
  return fail(reason +
              "\nhelp: a path counts from the top of the repository; from here it is git:" +
              file.revision + ":./PATH");
}

std::string PathHere(const GitFile& file) {
  if (file.path.starts_with("./") || file.path.starts_with("../")) return file.path;
  const ProgramOutput top = RunGit({"rev-parse", "--show-cdup"}, PATH_MAX);
  return (top.exit_code == 0 ? FirstLine(top.out) : "") + file.path;
}

}  // namespace kernelmap
