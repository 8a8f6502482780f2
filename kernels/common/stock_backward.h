// The Autograd kernel of ops that have a forward of their own and no backward.
//
// Beside kernelmap::NAME stands kernelmap::NAME_stock, the same function in ATen operations, with
// the same schema. Where a gradient is wanted, forward still runs the kernel; backward runs the
// stock twin on the saved inputs and differentiates that. Gradients are those of the stock code,
// then; they cost a second forward, and cannot be differentiated again.
#pragma once

#include <torch/library.h>

namespace kernelmap {

/// For `m.impl(NAME, torch::dispatch(c10::DispatchKey::Autograd, StockBackward()))`.
torch::CppFunction StockBackward();

}  // namespace kernelmap
