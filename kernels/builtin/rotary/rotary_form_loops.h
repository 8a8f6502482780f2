// The inner loop of kernelmap::rotary_form (rotary_form.cpp).
#pragma once

#include "kernels/builtin/rotary/rotary_loops.h"

namespace kernelmap {

struct RotaryFormArgs {
  RotaryArgs heads;  // `type` is that of `in` and `out`; cos and sin are read by `table_type`
  c10::ScalarType table_type;
  bool interleaved;  // pairs are neighbours, else the halves of the rotated part
  bool thin;         // cos and sin have a value for each pair, else for each feature
  bool wide;         // rounded once, else after each step
};

}  // namespace kernelmap

/// Rotates all heads of tokens [begin, end), counted through batch and sequence.
KM_DECLARE_LOOP(void RotaryFormTokens(const RotaryFormArgs& args, int64_t begin, int64_t end);)
