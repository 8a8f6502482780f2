// kernelmap fmt: the layout of configs in TOML.
#include <limits.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/line_diff.h"
#include "cli/output.h"
#include "compiler/display.h"
#include "compiler/document.h"
#include "compiler/toml_format.h"

namespace kernelmap {
namespace {

// The text in its layout. Nothing, and the exit code, where it is not TOML, or the result would not
// say the same; why is printed.
std::optional<std::string> Formatted(const std::string& name, const std::string& text,
                                     int* exit_code) {
  Diagnostics diagnostics(std::make_shared<Source>(name, text));
  const std::optional<Node> before = ReadDocument(Syntax::kToml, &diagnostics);
  diagnostics.Finish();
  PrintDiagnostics(diagnostics.list());
  if (!before || diagnostics.errors() > 0) {
    *exit_code = 1;
    return std::nullopt;
  }
  std::string result = FormatToml(text);
  Diagnostics again(std::make_shared<Source>(name, result));
  const std::optional<Node> after = ReadDocument(Syntax::kToml, &again);
  if (!after || !SameDocument(*before, text, *after, result) ||
      TomlComments(text) != TomlComments(result) || FormatToml(result) != result) {
    *exit_code = UsageError("`" + name + "` is not formatted: the result would not say the same");
    return std::nullopt;
  }
  return result;
}

// Replaces a file, to which a link may lead, and keeps who may read it.
int Replace(const std::string& path, const std::string& text) {
  char real[PATH_MAX];
  struct stat status {};
  if (!realpath(path.c_str(), real) || stat(real, &status) != 0) return WriteResult(path, text);
  const mode_t mask = umask(~status.st_mode & 0777);
  const int code = WriteResult(real, text);
  umask(mask);
  return code;
}

int FormatOne(const std::string& path, const Args& args) {
  std::string error;
  std::optional<std::string> bytes = ReadFile(path, kMaxFileBytes, &error);
  if (!bytes) return UsageError(error);
  const std::string name = path == "-" ? "<stdin>" : path;
  const std::string original = *bytes;
  RemoveByteOrderMark(&*bytes);
  if (GuessSyntax(path, *bytes) == Syntax::kJson) {
    return UsageError("`" + name + "` is JSON, which fmt leaves alone");
  }
  int exit_code = 0;
  const std::optional<std::string> result = Formatted(name, *bytes, &exit_code);
  if (!result) return exit_code;
  const bool same = *result == original;
  if (args.fmt.diff && !same) {
    if (const int code = WriteResult("-", LineDiff(Printable(name), original, *result)))
      return code;
  }
  if (args.fmt.check) {
    if (!same && !args.fmt.diff) WriteResult("-", Printable(name) + ": not formatted\n");
    return same ? 0 : 1;
  }
  if (args.fmt.diff) return 0;
  if (path == "-") return WriteResult("-", *result);
  if (same) return 0;
  if (const int code = Replace(path, *result)) return code;
  return WriteResult("-", Printable(name) + ": formatted\n");
}

}  // namespace

int RunFmt(const Args& args) {
  int exit_code = 0;
  for (const std::string& path : args.inputs) {
    exit_code = std::max(exit_code, FormatOne(path, args));
  }
  return exit_code;
}

}  // namespace kernelmap
