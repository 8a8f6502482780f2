// The Autograd kernel of ops that have no backward.
#pragma once

#include <torch/library.h>

namespace kernelmap {

/// An error when grad mode is on and a tensor argument requires grad, where the op would otherwise
/// cut the graph in silence; else the op itself.
torch::CppFunction ForwardOnly();

}  // namespace kernelmap
