// The inner loops of kernelmap::silu_and_mul (silu_and_mul.cpp).
#pragma once

#include "kernels/cpu/capability.h"
#include "kernels/cpu/gated_args.h"

KM_DECLARE_LOOP(void SiluAndMul(const GatedArgs& args, int64_t begin, int64_t end);)
KM_DECLARE_LOOP(void SiluAndMulGradients(const GatedGradientArgs& args, int64_t begin,
                                         int64_t end);)
