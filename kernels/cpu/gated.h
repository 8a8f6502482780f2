// activation(gate) * up, the driver that the ops of gated MLPs share: checks, allocation, threads.
#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/cpu/gated_args.h"

namespace kernelmap {

/// Checks that `gate` and `up` agree and gives a contiguous, uninitialised result.
at::Tensor CheckAndAllocateGated(const char* op, const at::Tensor& gate, const at::Tensor& up);

/// The same, and runs `loop` over all elements.
at::Tensor RunGated(const char* op, const at::Tensor& gate, const at::Tensor& up,
                    void (*loop)(const GatedArgs& args, int64_t begin, int64_t end));

}  // namespace kernelmap
