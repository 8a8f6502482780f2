#include "kernels/builtin/swiglu_mlp/silu_and_mul_loops.h"

#include "kernels/cpu/gated_loops.h"
#include "kernels/cpu/math.h"

namespace kernelmap::KM_ISA {

void SiluAndMul(const GatedArgs& args, int64_t begin, int64_t end) {
  GatedElements(args, begin, end, [](FloatVec x) { return Sigmoid(x, x); });
}

void SiluAndMulGradients(const GatedGradientArgs& args, int64_t begin, int64_t end) {
  GatedGradients(args, begin, end, [](FloatVec x) { return SiluAndSlope(x); });
}

}  // namespace kernelmap::KM_ISA
