// What a loop over activation(gate) * up gets (kernels/cpu/gated_loops.h).
#pragma once

#include <c10/core/ScalarType.h>

#include "kernels/cpu/rows.h"

namespace kernelmap {

struct GatedArgs {
  const void* gate;
  const void* up;
  void* out;  // contiguous
  c10::ScalarType type;
  Rows rows;      // operand 0: gate, operand 1: up
  int64_t width;  // elements of a row
};

/// Of its gradient: `forward.out` is not used.
struct GatedGradientArgs {
  GatedArgs forward;
  const void* grad;  // contiguous, as are the results
  void* gate_grad;   // null where it is not wanted
  void* up_grad;     // likewise
};

}  // namespace kernelmap
