// The Autograd kernel of ops that have a forward of their own.
//
// Beside kernelmap::NAME stands kernelmap::NAME_stock, the same function in ATen operations, with
// the same schema. Where a gradient is wanted, forward still runs the kernel and saves its inputs.
// Backward runs kernelmap::NAME_backward where there is one:
//
//   NAME_backward(Tensor grad, …, the arguments of NAME, bool[] wanted) -> (Tensor, …)
//
// one gradient in for each result, one out for each tensor argument, undefined where `wanted` says
// no. Without it, backward runs the stock twin on the saved inputs and differentiates that: right,
// at the cost of a second forward. A gradient that is to be differentiated again (create_graph) is
// always the stock twin's, so second derivatives are those of the stock code. Where no gradient is
// wanted (no_grad, inference_mode, frozen inputs), nothing is saved or recorded.
#pragma once

#include <torch/library.h>

namespace kernelmap {

/// For `m.impl(NAME, torch::dispatch(c10::DispatchKey::Autograd, StockBackward()))`. Tensor
/// arguments must not be optional.
torch::CppFunction StockBackward();

}  // namespace kernelmap
