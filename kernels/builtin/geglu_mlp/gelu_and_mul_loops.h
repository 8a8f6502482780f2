// The inner loops of kernelmap::gelu_and_mul (gelu_and_mul.cpp).
#pragma once

#include "kernels/cpu/capability.h"
#include "kernels/cpu/gated_args.h"

KM_DECLARE_LOOP(void GeluAndMul(const GatedArgs& args, int64_t begin, int64_t end);)
KM_DECLARE_LOOP(void GeluTanhAndMul(const GatedArgs& args, int64_t begin, int64_t end);)
KM_DECLARE_LOOP(void GeluAndMulGradients(const GatedGradientArgs& args, int64_t begin,
                                         int64_t end);)
KM_DECLARE_LOOP(void GeluTanhAndMulGradients(const GatedGradientArgs& args, int64_t begin,
                                             int64_t end);)
