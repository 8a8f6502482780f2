#include "cli/targets.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

namespace kernelmap {

TargetFlags TargetFlagsOf(const std::string& word, bool modes, TargetFlags flags) {
  size_t at = std::min(word.find(':'), word.size());
  flags.device = word.substr(0, at);
  while (at < word.size()) {
    const size_t end = modes ? std::min(word.find(':', at + 1), word.size()) : word.size();
    const std::string part = word.substr(at + 1, end - at - 1);
    (modes && ClassifyKey(part) == KeyKind::kMode ? flags.mode : flags.capability) = part;
    at = end;
  }
  if (flags.device != "cuda") flags.cuda.reset();
  if (flags.device != "rocm") flags.rocm.reset();
  if (flags.device != "xpu") flags.xpu.reset();
  return flags;
}

std::optional<std::vector<Target>> TargetsOf(const Args& args, const Config& config,
                                             std::vector<Diagnostic>* diagnostics) {
  std::vector<std::optional<std::string>> words(args.targets.begin(), args.targets.end());
  if (words.empty()) words.emplace_back();
  std::vector<Target> targets;
  for (const std::optional<std::string>& word : words) {
    TargetFlags flags = args.target;
    if (word) flags = TargetFlagsOf(*word, false, std::move(flags));
    const std::optional<Target> target = ResolveTarget(flags, &config, diagnostics);
    if (!target) return std::nullopt;
    targets.push_back(*target);
  }
  const auto key = [](const Target& t) {
    return std::tuple(t.device, t.capability, t.torch, t.cuda);
  };
  std::sort(targets.begin(), targets.end(),
            [&](const Target& a, const Target& b) { return key(a) < key(b); });
  targets.erase(std::unique(targets.begin(), targets.end(),
                            [&](const Target& a, const Target& b) { return key(a) == key(b); }),
                targets.end());
  return targets;
}

}  // namespace kernelmap
