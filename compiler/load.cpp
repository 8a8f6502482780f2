#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "compiler/compile.h"
#include "compiler/sha256.h"

namespace kernelmap {

std::optional<std::string> ReadFile(const std::string& path, size_t limit, std::string* error) {
  const bool standard_input = path == "-";
  std::FILE* file = standard_input ? stdin : std::fopen(path.c_str(), "rb");
  if (!file) {
    *error = "cannot read `" + path + "`: " + std::strerror(errno);
    return std::nullopt;
  }
  std::string bytes;
  char buffer[1 << 16];
  while (bytes.size() <= limit) {
    const size_t wanted = std::min(sizeof buffer, limit + 1 - bytes.size());
    const size_t got = std::fread(buffer, 1, wanted, file);
    bytes.append(buffer, got);
    if (got < wanted) break;
  }
  const bool failed = std::ferror(file) != 0;
  if (failed) *error = "cannot read `" + path + "`: " + std::strerror(errno);
  if (!standard_input) std::fclose(file);
  if (failed) return std::nullopt;
  return bytes;
}

namespace {

// What torch.jit.save writes begins so.
bool IsZip(std::string_view bytes) {
  return bytes.starts_with("PK\x03\x04") || bytes.starts_with("PK\x05\x06");
}

}  // namespace

Loaded LoadConfigText(const std::string& name, std::string bytes) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
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
  if (bytes.starts_with(kByteOrderMark)) bytes.erase(0, kByteOrderMark.size());
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
