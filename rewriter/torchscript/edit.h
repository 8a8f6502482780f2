// Does the edits that were decided on a TorchScript module's graphs.
//
// before: the stock operations of a layer or function
// after:  the kernel's code, reading the same operands; stock operations that nothing needs any
//         more are gone
// conditions: the edits come from expr::PlanEdit on this very import, and the module has not run
#pragma once

#include <vector>

#include "rewriter/expr/execute.h"
#include "rewriter/sites.h"
#include "rewriter/torchscript/references.h"

namespace kernelmap::torchscript {

/// Throws c10::Error when a graph comes out malformed. `self_mode`: puts the reference's own code
/// in the kernel's place.
void ApplyEdits(const SiteDecisions& decisions, const expr::Execution& execution,
                const CompiledReferences& references, Imported& imported, bool self_mode = false);

/// Makes forward raise unless its i-th tensor input has the i-th dtype: what was proved with
/// `[model] inputs` holds only then.
void AssertInputDTypes(const std::vector<std::string>& dtypes, torch::jit::Graph& forward);

}  // namespace kernelmap::torchscript
