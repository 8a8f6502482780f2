#include <utility>

#include "compiler/compile.h"
#include "compiler/sha256.h"

namespace kernelmap {

namespace {

// What torch.jit.save writes begins so.
bool IsZip(std::string_view bytes) {
  return bytes.starts_with("PK\x03\x04") || bytes.starts_with("PK\x05\x06");
}

}  // namespace

Loaded LoadConfigText(const std::string& name, std::string bytes) {
  Loaded loaded;
  if (IsZip(bytes)) {  // none of its bytes are worth showing
    Diagnostics diagnostics(std::make_shared<Source>(name, ""));
    diagnostics.Report<Diag::ArchiveNotConfig>({0, 0}).Help(
        "are config and model swapped? The config stands before the model");
    loaded.diagnostics = diagnostics.list();
    loaded.errors = diagnostics.errors();
    return loaded;
  }
  std::string sha256 = Sha256(bytes);
  RemoveByteOrderMark(&bytes);
  const Syntax syntax = GuessSyntax(name, bytes);
  Diagnostics diagnostics(std::make_shared<Source>(name, std::move(bytes)));
  if (const std::optional<Node> root = ReadDocument(syntax, &diagnostics)) {
    loaded.config = BindConfig(*root, &diagnostics);
    loaded.config->sha256 = std::move(sha256);
    CheckConfig(*loaded.config, &diagnostics);
  }
  diagnostics.Finish();
  loaded.diagnostics = diagnostics.list();
  loaded.errors = diagnostics.errors();
  loaded.warnings = diagnostics.warnings();
  return loaded;
}

std::optional<Loaded> LoadConfig(const std::string& path, std::string* error) {
  std::optional<std::string> bytes = ReadFile(path, kMaxFileBytes, error);
  if (!bytes) return std::nullopt;
  return LoadConfigText(path == "-" ? "<stdin>" : path, std::move(*bytes));
}

Compiled CompilePlan(const std::optional<std::string>& config_path, const TargetFlags& flags) {
  Compiled compiled;
  std::optional<Loaded> loaded;
  if (config_path) {
    loaded = LoadConfig(*config_path, &compiled.error);
    if (!loaded) {
      compiled.exit_code = 2;
      return compiled;
    }
    compiled.diagnostics = loaded->diagnostics;
    if (loaded->errors > 0) {
      compiled.exit_code = 1;
      return compiled;
    }
  }
  const Config* config = loaded ? &*loaded->config : nullptr;
  const std::optional<Target> target = ResolveTarget(flags, config, &compiled.diagnostics);
  const std::optional<Environment> environment =
      ReadEnvironment(&compiled.diagnostics, &compiled.error);
  if (!target || !environment) {
    compiled.exit_code = 2;
    return compiled;
  }
  compiled.plan = Resolve(config, *target, *environment, DefaultStore(environment->kernel_cache));
  return compiled;
}

}  // namespace kernelmap
