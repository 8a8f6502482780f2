// The inner loop of kernelmap::quick_gelu (quick_gelu.cpp).
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>

#include "kernels/cpu/capability.h"

/// Elements [begin, end) of `x` and `out`, both dense.
KM_DECLARE_LOOP(void QuickGeluElements(const void* x, void* out, c10::ScalarType type,
                                       int64_t begin, int64_t end);)
