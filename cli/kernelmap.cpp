// kernelmap COMMAND …. Commands that need libtorch are those of kernelmap-rewrite, which stands in
// the same folder and is run in this program's place.
#include <limits.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "cli/commands.h"
#include "cli/output.h"
#include "compiler/suggest.h"

namespace kernelmap {
namespace {

int RunRewriter(char** argv) {
  char self[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self);
  if (length < 0 || length == static_cast<ssize_t>(sizeof self)) {
    return UsageError("cannot find the folder of this program");
  }
  std::string program(self, static_cast<size_t>(length));
  program = program.substr(0, program.rfind('/') + 1) + "kernelmap-rewrite";
  HoldInterrupts();
  execv(program.c_str(), argv);
  return UsageError("cannot run `" + program + "`: " + std::strerror(errno));
}

std::string Help() {
  std::string text = "Usage: kernelmap COMMAND …\n\n";
  for (const Command& command : Commands()) {
    text += "  " + std::string(command.name) + std::string(13 - command.name.size(), ' ') +
            std::string(command.help) + "\n";
  }
  return text + "\n`kernelmap COMMAND --help` tells more of each.\n";
}

int Main(int argc, char** argv) {
  IgnoreWriteSignals();
  ExitOnInterrupt();
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) {
    std::fputs(Help().c_str(), stderr);
    return 2;
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    return WriteResult("-", Help());
  }
  if (words[0] == "--version") {
    return WriteResult("-", VersionText());
  }
  std::vector<std::string> names;
  for (const Command& command : Commands()) {
    names.emplace_back(command.name);
    if (command.name != words[0]) continue;
    if (!command.run) return RunRewriter(argv);
    int exit_code = 0;
    const std::optional<Args> args =
        ParseArgs(command, {words.begin() + 1, words.end()}, &exit_code);
    if (!args) return exit_code;
    if (args->prove && !args->model) return UsageError("--prove needs --model");
    return args->prove ? RunRewriter(argv) : command.run(*args);
  }
  const std::string help = DidYouMean(words[0], names);
  return UsageError("unknown command `" + words[0] +
                    "`\nhelp: " + (help.empty() ? "kernelmap --help lists the commands" : help));
}

}  // namespace
}  // namespace kernelmap

int main(int argc, char** argv) { return kernelmap::Main(argc, argv); }
