#include "kernels/builtin/geglu_mlp/gelu_and_mul_loops.h"

#include <cmath>

#include "kernels/cpu/gated_loops.h"

namespace kernelmap::KM_ISA {

void GeluAndMul(const GatedArgs& args, int64_t begin, int64_t end) {
  const FloatVec half(0.5f), one(1.0f), root_half(static_cast<float>(M_SQRT1_2));
  GatedElements(args, begin, end,
                [=](FloatVec x) { return x * half * (one + (x * root_half).erf()); });
}

void GeluTanhAndMul(const GatedArgs& args, int64_t begin, int64_t end) {
  const FloatVec half(0.5f), one(1.0f), cubic(0.044715f);
  const FloatVec beta(static_cast<float>(M_SQRT2 * M_2_SQRTPI * 0.5));
  GatedElements(args, begin, end, [=](FloatVec x) {
    const FloatVec inner = beta * (x + cubic * (x * x * x));
    return half * x * (one + inner.tanh());
  });
}

}  // namespace kernelmap::KM_ISA
