// The inner loops of kernelmap::rotary (rotary.cpp).
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>

#include "kernels/cpu/capability.h"

namespace kernelmap {

/// Strides are in elements; the innermost ones (of the head and of cos and sin) are 1.
struct RotaryStrides {
  int64_t batch, head, token;
};

struct RotaryArgs {
  const void* in;
  void* out;
  const void* cos;
  const void* sin;
  c10::ScalarType type;
  int64_t tokens;  // of one sequence
  int64_t heads;
  int64_t width;                                                    // of a head
  int64_t rotated;                                                  // even, <= width
  RotaryStrides in_strides, out_strides, cos_strides, sin_strides;  // cos, sin: head is unused
};

}  // namespace kernelmap

/// Rotates all heads of tokens [begin, end), counted through batch and sequence.
KM_DECLARE_LOOP(void RotaryTokens(const RotaryArgs& args, int64_t begin, int64_t end);)

/// Their gradients, from those of the rotated heads: `in` and `out` are gradients.
KM_DECLARE_LOOP(void RotaryTokensBack(const RotaryArgs& args, int64_t begin, int64_t end);)
