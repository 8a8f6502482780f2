// What apply and kernelize make of decisions: the kernels that rewritten code calls and that are
// not built in, and whether fallbacks are an error.
#pragma once

#include "compiler/store/embedded_kernels.h"
#include "rewriter/modules/load_options.h"
#include "rewriter/sites.h"

namespace kernelmap {

/// What an archive says of them, and what has to be loaded before it runs.
EmbeddedKernels UsedKernels(const Plan& plan, const SiteDecisions& decisions,
                            const Catalogue& catalogue = BuiltinCatalogue());

/// What the plan trusted when it chose its kernels.
LoadOptions TrustOf(const Plan& plan);

/// Throws c10::Error where the plan says on_fallback = "error" and the report has a fallback.
void RefuseFallbacks(const Plan& plan, const Report& report);

}  // namespace kernelmap
