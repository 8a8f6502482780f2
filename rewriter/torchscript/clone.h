// A module of its own with the same code.
//
// before: a module, which may have run, and whose code other handles share
// after:  one like it, whose classes, methods, hooks and functions are copies that have not run;
//         tensors and other attributes are shared. What was one object or one class is one again
// conditions: no attribute holds a module inside a list, tuple or dictionary
#pragma once

#include <torch/script.h>

namespace kernelmap::torchscript {

/// The copies are registered in the compilation unit of `root`, which keeps them as long as it
/// lives. `root` itself does not change. Throws c10::Error where the condition does not hold.
torch::jit::Module CloneModule(const torch::jit::Module& root);

}  // namespace kernelmap::torchscript
