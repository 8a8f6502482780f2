// What a plan depends on beside its config: USE_HUB_KERNELS, KERNELMAP_POLICY, and where the
// Hugging Face cache is.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <utility>

#include "compiler/bind.h"
#include "compiler/compile.h"
#include "compiler/store/cache_path.h"

namespace kernelmap {
std::optional<Environment::Policy> ReadPolicyText(const std::string& name, std::string bytes,
                                                  std::vector<Diagnostic>* out) {
  RemoveByteOrderMark(&bytes);
  Diagnostics diagnostics(std::make_shared<Source>(name, std::move(bytes)));
  Environment::Policy policy;
  if (const std::optional<Node> root = ReadDocument(Syntax::kToml, &diagnostics)) {
    for (const Member& member : root->members) {
      if (member.key == "trusted_publishers") {
        policy.trusted_publishers = BindSortedTexts(member, &diagnostics);
      } else if (member.key == "allow_all_kernels") {
        policy.allow_all_kernels = BindBool(member, &diagnostics).value_or(false);
      } else {
        ReportUnknownKey(member, "the policy", {"trusted_publishers", "allow_all_kernels"},
                         &diagnostics);
      }
    }
  }
  diagnostics.Finish();
  out->insert(out->end(), diagnostics.list().begin(), diagnostics.list().end());
  if (diagnostics.errors() > 0) return std::nullopt;
  return policy;
}

bool Environment::HubEnabled() const {
  if (!use_hub_kernels) return true;
  std::string upper = *use_hub_kernels;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return upper == "1" || upper == "ON" || upper == "YES" || upper == "TRUE";
}

std::optional<Environment> ReadEnvironment(std::vector<Diagnostic>* diagnostics,
                                           std::string* error) {
  Environment environment;
  if (const char* value = std::getenv("USE_HUB_KERNELS")) environment.use_hub_kernels = value;
  environment.kernel_cache =
      CacheFolder([](const char* name) { return std::getenv(name); }).value_or("");
  const char* path = std::getenv("KERNELMAP_POLICY");
  if (path && *path) {
    std::optional<std::string> bytes = ReadFile(path, kMaxFileBytes, error);
    if (!bytes) return std::nullopt;
    environment.policy = ReadPolicyText(path, std::move(*bytes), diagnostics);
    if (!environment.policy) return std::nullopt;
  }
  return environment;
}

}  // namespace kernelmap
