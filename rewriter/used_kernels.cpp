#include "rewriter/used_kernels.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <set>

#include "rewriter/kernel_fit.h"

namespace kernelmap {
namespace {

// Whether an edit's code is that of the kernel which was chosen for `name`.
bool IsOf(const SiteEdit& edit, const Kernel& kernel, const std::string& name) {
  if (!edit.implementation || !edit.implementation->adapter) return false;
  if (edit.made) return edit.reference_layer == name;
  return std::any_of(kernel.implementations.begin(), kernel.implementations.end(),
                     [&](const Implementation& i) { return &i == edit.implementation; });
}

}  // namespace

EmbeddedKernels UsedKernels(const Plan& plan, const SiteDecisions& decisions,
                            const Catalogue& catalogue) {
  EmbeddedKernels used;
  used.device = plan.target.device;
  std::set<std::string> ops;
  for (const PlanEntry& entry : plan.entries) {
    const Kernel* kernel = KernelOf(entry, catalogue);
    if (!kernel || !kernel->origin) continue;
    EmbeddedKernel embedded{
        *kernel->origin, entry.kernel->ref, entry.kernel->variant.value_or(""), {}};
    const auto add = [&](const SiteEdit& edit) {
      if (IsOf(edit, *kernel, entry.name) && ops.insert(edit.implementation->adapter->op).second) {
        embedded.adapters.push_back(*edit.implementation->adapter);
      }
    };
    for (const SiteEdit& edit : decisions.edits) add(edit);
    for (const FusionEdit& fusion : decisions.fusions) add(fusion.fused);
    if (!embedded.adapters.empty()) used.kernels.push_back(std::move(embedded));
  }
  return used;
}

LoadOptions TrustOf(const Plan& plan) {
  LoadOptions options;
  options.trusted_publishers.clear();
  for (const PlanEntry& entry : plan.entries) {
    if (!entry.code || !entry.code->origin) continue;
    const KernelOrigin& origin = *entry.code->origin;
    if (origin.repo.empty()) {
      options.local_kernels.push_back(origin.folder);
    } else {
      options.trusted_publishers.push_back(origin.repo.substr(0, origin.repo.find('/')));
    }
  }
  return options;
}

void RefuseFallbacks(const Plan& plan, const Report& report) {
  if (!plan.error_on_fallback) return;
  const auto first = std::find_if(report.sites.begin(), report.sites.end(), [](const Site& site) {
    return site.action == Action::kFallback;
  });
  TORCH_CHECK(first == report.sites.end(), "a site is a fallback: `", first->path, "`, ",
              first->name, first->reason ? " [" + first->reason->code + "]" : "");
}

}  // namespace kernelmap
