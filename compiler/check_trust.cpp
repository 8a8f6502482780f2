// Trust, as far as config and policy alone show it.
#include <algorithm>
#include <set>

#include "compiler/check.h"
#include "compiler/compile.h"

namespace kernelmap {
namespace {

bool Contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

void CheckTrust(const Config& config, Diagnostics* diagnostics) {
  if (config.allow_all_kernels.value) return;
  std::set<std::string> reported;  // each once, where it first stands
  ForEachCandidate(config, [&](const Candidate& candidate) {
    const std::string publisher = candidate.ref.Publisher();
    if (publisher.empty() || candidate.trust_remote_code ||
        Contains(config.trusted_publishers.value, publisher) ||
        !reported.insert(publisher).second) {
      return;
    }
    diagnostics->Report<Diag::UntrustedPublisher>(candidate.span, publisher)
        .Help(
            "add it to `trusted_publishers`, or write `trust_remote_code = true` beside this one");
  });
}

void CheckPolicy(const Config& config, const Environment& environment, Diagnostics* diagnostics) {
  if (!environment.policy || environment.policy->allow_all_kernels) return;
  const std::vector<std::string>& allowed = environment.policy->trusted_publishers;
  if (config.allow_all_kernels.value && config.allow_all_kernels.span) {
    diagnostics->Report<Diag::BeyondPolicy>(*config.allow_all_kernels.span, "allow_all_kernels");
  }
  if (config.trusted_publishers.span) {
    for (const std::string& publisher : config.trusted_publishers.value) {
      if (Contains(allowed, publisher)) continue;
      diagnostics->Report<Diag::BeyondPolicy>(*config.trusted_publishers.span, publisher);
    }
  }
  ForEachCandidate(config, [&](const Candidate& candidate) {
    const std::string publisher = candidate.ref.Publisher();
    if (!candidate.trust_remote_code || publisher.empty() || Contains(allowed, publisher)) return;
    diagnostics->Report<Diag::BeyondPolicy>(candidate.span, publisher);
  });
}

}  // namespace kernelmap
