// Ops of one tensor, element by element.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>

#include "kernels/common/checks.h"
#include "kernels/cpu/parallel.h"

namespace kernelmap {

/// Whether loops over elements take it: float32, bfloat16 or float16 in memory of the CPU.
inline bool TakesElements(const at::Tensor& x) {
  const auto type = x.scalar_type();
  return HasCpuMemory(x) && (type == at::kFloat || type == at::kBFloat16 || type == at::kHalf);
}

/// A new tensor laid out as `x` is, of any shape and strides: `loop(from, to, dtype, begin, end)`
/// computes elements [begin, end) of dense memory.
template <typename Loop>
at::Tensor MapElements(const at::Tensor& x, const Loop& loop) {
  const at::Tensor dense = x.is_non_overlapping_and_dense() ? x : x.contiguous();
  at::Tensor out = at::empty_like(dense, dense.options(), at::MemoryFormat::Preserve);
  const void* from = dense.const_data_ptr();
  void* to = out.mutable_data_ptr();
  ParallelFor(0, out.numel(), kMathGrain,
              [&](int64_t begin, int64_t end) { loop(from, to, dense.scalar_type(), begin, end); });
  return out;
}

}  // namespace kernelmap
