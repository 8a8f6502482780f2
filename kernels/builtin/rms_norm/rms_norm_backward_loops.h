// The inner loop of kernelmap::rms_norm's gradients (rms_norm_backward.cpp).
#pragma once

#include "kernels/builtin/rms_norm/rms_norm_loops.h"

namespace kernelmap {

struct RmsNormGradientArgs {
  RmsNormArgs forward;   // `out` is not used
  const void* grad;      // contiguous, of the type of out
  void* x_grad;          // contiguous, of x_type; null where it is not wanted
  float* weight_grad;    // a row of `width` zeros for each chunk; null where it is not wanted
  int64_t rows_a_chunk;  // the last chunk may have fewer
};

}  // namespace kernelmap

/// Rows of chunks [begin, end).
KM_DECLARE_LOOP(void RmsNormGradients(const RmsNormGradientArgs& args, int64_t begin, int64_t end);)
