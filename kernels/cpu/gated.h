// activation(gate) * up, the driver that the ops of gated MLPs share: checks, allocation, threads.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <tuple>

#include "kernels/cpu/gated_args.h"

namespace kernelmap {

/// Checks that `gate` and `up` agree and gives a contiguous, uninitialised result.
at::Tensor CheckAndAllocateGated(const char* op, const at::Tensor& gate, const at::Tensor& up);

/// The same, and runs `loop` over all elements.
at::Tensor RunGated(const char* op, const at::Tensor& gate, const at::Tensor& up,
                    void (*loop)(const GatedArgs& args, int64_t begin, int64_t end));

/// The gradients of gate and up, contiguous; undefined where `wanted` says no. `grad` is that of
/// the result, of any strides.
std::tuple<at::Tensor, at::Tensor> RunGatedBackward(const char* op, const at::Tensor& grad,
                                                    const at::Tensor& gate, const at::Tensor& up,
                                                    std::array<bool, 2> wanted,
                                                    void (*loop)(const GatedGradientArgs& args,
                                                                 int64_t begin, int64_t end));

}  // namespace kernelmap
