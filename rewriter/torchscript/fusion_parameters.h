// The parameters of fused modules, and of layers whose kernel has a layout.
//
// before: the members' own
// after:  the first member has those that its layout makes of them; what no code reads any more is
//         gone, with the modules that held it. Tensors that other modules hold too stay there
// conditions: no other instance has the members' classes
#pragma once

#include <vector>

#include "rewriter/sites.h"
#include "rewriter/torchscript/import.h"

namespace kernelmap::torchscript {

/// Before the edits: they read the new parameters.
void AddParameters(const std::vector<FusionEdit>& fusions, Imported& imported);

/// After the edits, when dead code is gone.
void RemoveUnused(const std::vector<FusionEdit>& fusions, Imported& imported);

}  // namespace kernelmap::torchscript
