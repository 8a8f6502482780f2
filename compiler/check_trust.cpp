// Trust, as far as config and policy alone show it.
#include <set>

#include "compiler/check.h"
#include "compiler/compile.h"
#include "compiler/suggest.h"

namespace kernelmap {

void CheckTrust(const Config& config, Diagnostics* diagnostics) {
  if (config.allow_all_kernels.value) return;
  std::set<std::string> reported;  // each once, where it first stands
  ForEachCandidate(config, [&](const Candidate& candidate) {
    const std::string publisher = candidate.ref.Publisher();
    if (publisher.empty() || candidate.trust_remote_code ||
        HasPublisher(config.trusted_publishers.value, publisher) ||
        !reported.insert(publisher).second) {
      return;
    }
    // To trust a publisher whose name looks like that of one who is trusted is a mistake, or worse.
    const std::string near = DidYouMean(publisher, config.trusted_publishers.value);
    diagnostics->Report<Diag::UntrustedPublisher>(candidate.span, publisher)
        .Help(!near.empty() ? near
                            : "add it to `trusted_publishers`, or write `trust_remote_code = true` "
                              "beside this one");
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
      if (HasPublisher(allowed, publisher)) continue;
      diagnostics->Report<Diag::BeyondPolicy>(*config.trusted_publishers.span, publisher);
    }
  }
  ForEachCandidate(config, [&](const Candidate& candidate) {
    const std::string publisher = candidate.ref.Publisher();
    if (!candidate.trust_remote_code || publisher.empty() || HasPublisher(allowed, publisher))
      return;
    diagnostics->Report<Diag::BeyondPolicy>(candidate.span, publisher);
  });
}

}  // namespace kernelmap
