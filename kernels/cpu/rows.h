// Rows of tensors of one shape: all dimensions but the last, folded where the strides allow it.
//
// Kernels that work along the last dimension read slices, transposes and expanded tensors in place:
// only a last dimension that is not dense, or a shape that folds to more than kMaxRowDims
// dimensions, has to be copied first.
#pragma once

#include <cstdint>

namespace kernelmap {

inline constexpr int kMaxRowDims = 6;
inline constexpr int kMaxRowOperands = 2;

struct Rows {
  int64_t count = 1;  // how many rows
  int dims = 0;       // outermost first
  int64_t size[kMaxRowDims] = {};
  int64_t stride[kMaxRowOperands][kMaxRowDims] = {};  // in elements
};

}  // namespace kernelmap
