// Rewrites a TorchScript module in memory. Includes torch.
#pragma once

#include <torch/script.h>

#include "compiler/plan.h"
#include "rewriter/sites.h"

namespace kernelmap {

/// Decides every site of `module` and, unless `decide_only`, does the edits in its graphs. The
/// module must not have run before: a graph that was specialised already does not see edits until
/// it is saved and loaded. Throws c10::Error where TorchScript refuses the result.
SiteDecisions RewriteModule(torch::jit::Module& module, const Plan& plan,
                            const SiteOptions& options, bool decide_only = false,
                            const Catalogue& catalogue = BuiltinCatalogue());

}  // namespace kernelmap
