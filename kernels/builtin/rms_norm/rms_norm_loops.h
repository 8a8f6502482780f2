// The inner loop of kernelmap::rms_norm (rms_norm.cpp).
#pragma once

#include <c10/core/ScalarType.h>

#include "kernels/cpu/capability.h"
#include "kernels/cpu/rows.h"

namespace kernelmap {

struct RmsNormArgs {
  const void* x;
  const void* weight;  // `width` elements, dense
  void* out;           // contiguous
  c10::ScalarType x_type, weight_type;
  Rows rows;  // of x
  int64_t width;
  float eps, weight_offset;
  bool cast_first;  // out is promote(x_type, weight_type); otherwise x_type
};

}  // namespace kernelmap

/// Normalises rows [begin, end).
KM_DECLARE_LOOP(void RmsNormRows(const RmsNormArgs& args, int64_t begin, int64_t end);)
