#include "kernels/builtin/geglu_mlp/gelu_and_mul_loops.h"

#include "kernels/cpu/gated_loops.h"
#include "kernels/cpu/math.h"

namespace kernelmap::KM_ISA {

void GeluAndMul(const GatedArgs& args, int64_t begin, int64_t end) {
  GatedElements(args, begin, end, [](FloatVec x) { return Gelu(x); });
}

void GeluTanhAndMul(const GatedArgs& args, int64_t begin, int64_t end) {
  GatedElements(args, begin, end, [](FloatVec x) { return GeluTanh(x); });
}

void GeluAndMulGradients(const GatedGradientArgs& args, int64_t begin, int64_t end) {
  GatedGradients(args, begin, end, [](FloatVec x) { return GeluAndSlope(x); });
}

void GeluTanhAndMulGradients(const GatedGradientArgs& args, int64_t begin, int64_t end) {
  GatedGradients(args, begin, end, [](FloatVec x) { return GeluTanhAndSlope(x); });
}

}  // namespace kernelmap::KM_ISA
