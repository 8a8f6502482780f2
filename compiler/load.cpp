#include <utility>

#include "compiler/compile.h"
#include "compiler/lock.h"
#include "compiler/sha256.h"

namespace kernelmap {

namespace {

// What torch.jit.save writes begins so.
bool IsZip(std::string_view bytes) {
  return bytes.starts_with("PK\x03\x04") || bytes.starts_with("PK\x05\x06");
}

}  // namespace

Loaded LoadConfigText(const std::string& name, std::string bytes, const Environment* environment) {
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
    if (environment) CheckPolicy(*loaded.config, *environment, &diagnostics);
  }
  diagnostics.Finish();
  loaded.diagnostics = diagnostics.list();
  loaded.errors = diagnostics.errors();
  loaded.warnings = diagnostics.warnings();
  return loaded;
}

std::optional<Loaded> LoadConfig(const std::string& path, std::string* error,
                                 const Environment* environment) {
  std::optional<std::string> bytes = ReadFile(path, kMaxFileBytes, error);
  if (!bytes) return std::nullopt;
  return LoadConfigText(path == "-" ? "<stdin>" : path, std::move(*bytes), environment);
}

Compiled CompilePlan(const std::optional<std::string>& config_path, const TargetFlags& flags,
                     bool locked, const std::string& lock_file) {
  Compiled compiled;
  const std::optional<Environment> environment =
      ReadEnvironment(&compiled.diagnostics, &compiled.error);
  std::optional<Loaded> loaded;
  if (config_path) {
    loaded = LoadConfig(*config_path, &compiled.error, environment ? &*environment : nullptr);
    if (!loaded) {
      compiled.exit_code = 2;
      return compiled;
    }
    compiled.diagnostics.insert(compiled.diagnostics.begin(), loaded->diagnostics.begin(),
                                loaded->diagnostics.end());
    if (loaded->errors > 0) {
      compiled.exit_code = 1;
      return compiled;
    }
  }
  const Config* config = loaded ? &*loaded->config : nullptr;
  const std::optional<Target> target = ResolveTarget(flags, config, &compiled.diagnostics);
  if (!target || !environment) {
    compiled.exit_code = 2;
    return compiled;
  }
  if (config) compiled.config = *config;
  const Store store = DefaultStore(environment->kernel_cache);
  if (!locked) {
    compiled.plan = Resolve(config, *target, *environment, store);
    return compiled;
  }
  const std::optional<Lock> lock =
      LoadLock(config_path, lock_file, &compiled.diagnostics, &compiled.error);
  if (!lock) {
    compiled.exit_code = compiled.error.empty() ? 1 : 2;
    return compiled;
  }
  compiled.lock_file = lock->source->name();
  std::vector<LockedKernel> found;
  compiled.plan =
      Resolve(config, *target, *environment, RecordingStore(LockedStore(store, *lock), 0, &found));
  Diagnostics differences(lock->source);
  CompareWithLock(found, *target, *lock, &differences);
  differences.Finish();
  compiled.diagnostics.insert(compiled.diagnostics.end(), differences.list().begin(),
                              differences.list().end());
  if (differences.errors() > 0) {
    compiled.plan.reset();
    compiled.exit_code = 1;
  }
  return compiled;
}

}  // namespace kernelmap
