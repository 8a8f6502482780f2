// Gives modules classes of their own.
//
// before: several modules of a scripted model share a class
// after:  each of the chosen ones has its own, and so has everything that holds it; code, tensors
//         and submodules are the same
// conditions: the module has not run; none of the classes has hooks
#pragma once

#include <torch/script.h>

#include <string>
#include <vector>

namespace kernelmap::torchscript {

/// A module like `root` in which `chosen` have classes of their own. Tensors are shared with
/// `root`. Throws c10::Error where a class has hooks, or an attribute holds one of the modules
/// otherwise than as a submodule of its class.
torch::jit::Module SplitClasses(const torch::jit::Module& root,
                                const std::vector<c10::intrusive_ptr<c10::ivalue::Object>>& chosen);

}  // namespace kernelmap::torchscript
