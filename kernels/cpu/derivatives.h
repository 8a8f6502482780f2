// Activations and their derivatives on vectors, for *_loops.cpp only.
//
// Values are those of kernels/cpu/math.h. Derivatives are within a few units in the last place of
// 1. nan gives nan; where a function goes to a limit, its derivative is (nearly) that of the limit.
#pragma once

#include "kernels/cpu/math.h"

namespace kernelmap::KM_ISA {

struct ValueAndSlope {
  FloatVec value, slope;
};

#if defined(CPU_CAPABILITY_AVX512) || defined(CPU_CAPABILITY_AVX2)
inline FloatVec Within(float bound, FloatVec x) { return Max(-bound, Min(bound, x)); }
#else
inline FloatVec Within(float bound, FloatVec x) {
  return at::vec::maximum(FloatVec(-bound), at::vec::minimum(FloatVec(bound), x));
}
inline FloatVec Reciprocal(FloatVec x) { return FloatVec(1.0f) / x; }
#endif

/// The derivative of x s(t), where s is the logistic function and t's is `inner`: s (1 + x (1 - s)
/// inner). 1 - s is e^-t s, without a difference of near numbers.
inline FloatVec SigmoidSlope(FloatVec x, FloatVec t, FloatVec inner) {
  const FloatVec power = BoundedExp(Within(87.0f, t).neg());
  const FloatVec s = Reciprocal(FloatVec(1.0f) + power);
  return s * at::vec::fmadd(x * (power * s), inner, FloatVec(1.0f));
}

inline ValueAndSlope SiluAndSlope(FloatVec x) {
  return {Sigmoid(x, x), SigmoidSlope(Within(87.0f, x), x, FloatVec(1.0f))};
}

inline ValueAndSlope GeluTanhAndSlope(FloatVec x) {
  using at::vec::fmadd;
  const FloatVec beta(static_cast<float>(M_SQRT2 * M_2_SQRTPI));  // as in GeluTanh
  const FloatVec t = beta * fmadd(FloatVec(0.044715f) * x, x * x, x);
  const FloatVec near = Within(87.0f, x);
  const FloatVec inner = beta * fmadd(FloatVec(3 * 0.044715f) * near, near, FloatVec(1.0f));
  return {Sigmoid(x, t), SigmoidSlope(near, t, inner)};
}

/// P + x p, with the normal distribution's P and its density p.
inline ValueAndSlope GeluAndSlope(FloatVec x) {
  const FloatVec near = Within(13.0f, x);
  const FloatVec density = FloatVec(static_cast<float>(0.5 * M_2_SQRTPI * M_SQRT1_2)) *
                           BoundedExp(FloatVec(-0.5f) * near * near);
  return {Gelu(x), at::vec::fmadd(near, density, NormalBelow(near))};
}

}  // namespace kernelmap::KM_ISA
