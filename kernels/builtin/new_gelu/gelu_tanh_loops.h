// The inner loops of kernelmap::gelu_tanh (gelu_tanh.cpp).
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>

#include "kernels/cpu/capability.h"

/// Elements [begin, end) of `x` and `out`, both dense.
KM_DECLARE_LOOP(void GeluTanhElements(const void* x, void* out, c10::ScalarType type, int64_t begin,
                                      int64_t end);)

/// `out` is the gradient of x, `grad` that of the result: all dense, of one layout.
KM_DECLARE_LOOP(void GeluTanhGradients(const void* grad, const void* x, void* out,
                                       c10::ScalarType type, int64_t begin, int64_t end);)
