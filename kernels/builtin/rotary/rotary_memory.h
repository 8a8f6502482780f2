// How heads and tables of rotary position embeddings lie in memory, for rotary.cpp and
// rotary_form.cpp.
#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/builtin/rotary/rotary_loops.h"

namespace kernelmap {

/// Features one after the other, which the loops want.
at::Tensor DenseLast(const at::Tensor& t);

/// For the result of heads [B, H, S, D] or [B, S, H, D] whose first `rotated` features are turned:
/// laid out as they are where that is all of them, else contiguous, as torch.cat leaves it.
at::Tensor AllocateRotated(const at::Tensor& x, int64_t rotated);

/// `in` and `out` of one head layout, whose heads are counted by the dimension `heads_dim`; the
/// tables [B or 1, S, R] are dense in their last dimension, and R features are rotated.
RotaryArgs RotaryArguments(const at::Tensor& in, const at::Tensor& out, const at::Tensor& cos,
                           const at::Tensor& sin, int64_t heads_dim);

}  // namespace kernelmap
