// kernelmap init: writes a first config.
#include "cli/init.h"

#include <sys/stat.h>

#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/model_commands.h"
#include "cli/output.h"
#include "compiler/archive/file.h"
#include "compiler/document.h"
#include "compiler/store/folder.h"
#include "compiler/toml_format.h"
#include "compiler/toml_writer.h"
#include "compiler/words.h"

namespace kernelmap {
namespace {

// The config at `path` as TOML. Nothing, and the exit code, where it has errors; they are printed.
std::optional<std::string> FromConfig(const std::string& path, bool* has_target, bool* has_model,
                                      int* exit_code) {
  std::string error;
  std::optional<Loaded> loaded = LoadConfig(path, &error);
  if (!loaded) {
    *exit_code = UsageError(error);
    return std::nullopt;
  }
  PrintDiagnostics(loaded->diagnostics);
  if (loaded->errors > 0) {
    *exit_code = 1;
    return std::nullopt;
  }
  Diagnostics again(loaded->config->source);
  const std::string_view text = loaded->config->source->text();
  const std::optional<Node> root = ReadDocument(GuessSyntax(path, text), &again);
  if (!root) {
    *exit_code = 1;
    return std::nullopt;
  }
  *has_target = root->Find("target") != nullptr;
  *has_model = root->Find("model") != nullptr;
  return ConfigToToml(*root);
}

}  // namespace

int RunInit(const Args& args) {
  if (args.output != "-" && !args.init.force) {
    struct stat status {};
    if (lstat(args.output.c_str(), &status) == 0) {
      return UsageError("`" + args.output + "` is there already\nhelp: --force replaces it");
    }
  }
  std::vector<Diagnostic> diagnostics;
  const std::optional<Target> target = ResolveTarget(args.target, nullptr, &diagnostics);
  PrintDiagnostics(diagnostics);
  if (!target) return 2;
  std::optional<ModuleTree> tree;
  int exit_code = 0;
  if (args.model && !(tree = ReadTree(*args.model, &exit_code))) return exit_code;

  bool has_target = false, has_model = false;
  std::optional<std::string> config;
  if (args.init.from) {
    config = FromConfig(*args.init.from, &has_target, &has_model, &exit_code);
    if (!config) return exit_code;
  }
  std::string table = TargetTable(args.target, *target);
  if (has_target && !table.empty()) {
    return UsageError(
        "the config of --from has a [target] of its own\nhelp: leave --device and "
        "the like out");
  }
  if (tree && !has_model) {
    if (const std::string root = WrappedRoot(*tree); !root.empty()) {
      table += "\n[model]\nroot = " + TomlString(root) +
               "  # the model was traced through a wrapper; path patterns begin below\n";
    }
  }
  std::string text = "# A config of kernelmap";
  if (args.init.from) text += ", from " + Visible(BaseName(*args.init.from));
  if (args.model) {
    text += (args.init.from ? " and " : ", for ") + Visible(BaseName(*args.model)) + " with " +
            CountOf(tree->modules.size(), "module");
  }
  text += ".\n";
  if (config) {
    // Tables may stand behind the config's own: it has none of their names.
    const bool tables = config->starts_with('[');
    text += (tables ? "\n" : "") + *config + table;
  } else {
    text += "# What no line here maps is inherited: built-in kernels, where they fit.\n" + table +
            FirstMapping(tree ? &*tree : nullptr, *target);
  }
  return WriteResult(args.output, FormatToml(text));
}

}  // namespace kernelmap
