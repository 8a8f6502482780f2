// A first config.
#pragma once

#include <string>

#include "compiler/archive/module_tree.h"
#include "compiler/compile.h"

namespace kernelmap {

/// `[target]` with what the flags say, as `target` resolved it; "" where they say nothing.
std::string TargetTable(const TargetFlags& flags, const Target& target);

/// The path of the model in a wrapper that was traced with it: the root module has no tensors and
/// one child. "" where there is no wrapper, or its name is none that patterns may have.
std::string WrappedRoot(const ModuleTree& tree);

/// `[kernel_mapping]` for the names that a model's classes answer to: built-in kernels, and as
/// comments those of transformers' mapping. Without a model, for all names of the default mapping.
std::string FirstMapping(const ModuleTree* tree, const Target& target);

}  // namespace kernelmap
