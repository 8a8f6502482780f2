// Activations on vectors, for *_loops.cpp only.
//
// Inlined and without divisions, where at::vec calls a library function for each vector. Against
// exact arithmetic the results are within a few units in the last place, also in the tails, where 1
// + tanh and 1 + erf cancel. nan gives nan. At minus infinity they give (nearly) 0, their limit.
#pragma once

#include <cmath>

#include "kernels/cpu/simd.h"

namespace kernelmap::KM_ISA {

#if defined(CPU_CAPABILITY_AVX512) || defined(CPU_CAPABILITY_AVX2)

#if defined(CPU_CAPABILITY_AVX512)
// In this order, the instructions keep a nan in x.
inline FloatVec Min(float bound, FloatVec x) { return _mm512_min_ps(_mm512_set1_ps(bound), x); }
inline FloatVec Max(float bound, FloatVec x) { return _mm512_max_ps(_mm512_set1_ps(bound), x); }
inline FloatVec ScaleByPowerOfTwo(FloatVec x, FloatVec n) { return _mm512_scalef_ps(x, n); }
/// 1 / x for x in [1, 2^126], within 2 units in the last place.
inline FloatVec Reciprocal(FloatVec x) {
  const FloatVec guess = _mm512_rcp14_ps(x);
  return guess * FloatVec(_mm512_fnmadd_ps(x, guess, _mm512_set1_ps(2.0f)));
}
#else
inline FloatVec Min(float bound, FloatVec x) { return _mm256_min_ps(_mm256_set1_ps(bound), x); }
inline FloatVec Max(float bound, FloatVec x) { return _mm256_max_ps(_mm256_set1_ps(bound), x); }
inline FloatVec ScaleByPowerOfTwo(FloatVec x, FloatVec n) {
  const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
  return x * FloatVec(_mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)));
}
inline FloatVec Reciprocal(FloatVec x) { return FloatVec(1.0f) / x; }
#endif

/// 2^(n + r) for a whole n in [-126, 126] and r in [-1/2, 1/2]: a minimax polynomial, relative
/// error 7.5e-8.
inline FloatVec PowerOfTwo(FloatVec n, FloatVec r) {
  using at::vec::fmadd;
  FloatVec p(0.001327647129073739f);
  p = fmadd(p, r, FloatVec(0.009675540961325169f));
  p = fmadd(p, r, FloatVec(0.05550713092088699f));
  p = fmadd(p, r, FloatVec(0.24022120237350464f));
  p = fmadd(p, r, FloatVec(0.6931469440460205f));
  p = fmadd(p, r, FloatVec(1.0000001192092896f));
  return ScaleByPowerOfTwo(p, n);
}

/// e^t for t in [-87, 87], and for others what it is at the nearer end.
inline FloatVec BoundedExp(FloatVec t) {
  constexpr float kHigh = 1.44269504088896341f;                // log2(e)
  constexpr float kLow = 1.44269504088896341 - double{kHigh};  // what float leaves of it
  t = Max(-87.0f, Min(87.0f, t));
  const FloatVec n = (t * FloatVec(kHigh)).round();
  const FloatVec r = at::vec::fmsub(t, FloatVec(kHigh), n);
  return PowerOfTwo(n, at::vec::fmadd(t, FloatVec(kLow), r));
}

/// x / (1 + e^-t), where x and t have the same sign: with t = x the SiLU.
inline FloatVec Sigmoid(FloatVec x, FloatVec t) {
  return Max(-87.0f, x) * Reciprocal(FloatVec(1.0f) + BoundedExp(t.neg()));
}

/// erfc(a / sqrt 2) / 2 for a in [0, 13], as the product of the two.
struct NormalTail {
  FloatVec factor, power;
};
inline NormalTail TailOfNormal(FloatVec a) {
  using at::vec::fmadd;
  constexpr float kLog2E = 1.44269504088896341f;
  // erfc(z) = t e^(p(t) - z^2), t = 1 / (1 + z / 2): a Chebyshev fit with relative error below
  // 1.2e-7 (Numerical Recipes, erfcc). Here in powers of two and halved.
  const FloatVec t = Reciprocal(fmadd(a, FloatVec(0.35355339059f), FloatVec(1.0f)));
  const FloatVec u = t * t;  // even and odd powers in two chains
  FloatVec even(-0.82215223f * kLog2E), odd(0.17087277f * kLog2E);
  even = fmadd(even, u, FloatVec(-1.13520398f * kLog2E));
  odd = fmadd(odd, u, FloatVec(1.48851587f * kLog2E));
  even = fmadd(even, u, FloatVec(-0.18628806f * kLog2E));
  odd = fmadd(odd, u, FloatVec(0.27886807f * kLog2E));
  even = fmadd(even, u, FloatVec(0.37409196f * kLog2E));
  odd = fmadd(odd, u, FloatVec(0.09678418f * kLog2E));
  even = fmadd(even, u, FloatVec(-1.26551223f * kLog2E - 1.0f));
  odd = fmadd(odd, u, FloatVec(1.00002368f * kLog2E));
  const FloatVec y = fmadd(a * FloatVec(-0.5f * kLog2E), a, fmadd(odd, t, even));
  const FloatVec n = y.round();
  return {t, PowerOfTwo(n, y - n)};
}

/// x (1 + erf(x / sqrt 2)) / 2, as max(x, 0) - |x| erfc(|x| / sqrt 2) / 2.
inline FloatVec Gelu(FloatVec x) {
  const FloatVec a = Min(13.0f, x.abs());
  const NormalTail tail = TailOfNormal(a);
  return Max(0.0f, x) - (a * tail.factor) * tail.power;
}

/// (1 + erf(x / sqrt 2)) / 2 for x in [-13, 13].
inline FloatVec NormalBelow(FloatVec x) {
  const NormalTail tail = TailOfNormal(x.abs());
  const FloatVec beyond = tail.factor * tail.power;
  return FloatVec::blendv(FloatVec(1.0f) - beyond, beyond, x < FloatVec(0.0f));
}

#else

inline FloatVec BoundedExp(FloatVec t) { return t.exp(); }

inline FloatVec Sigmoid(FloatVec x, FloatVec t) { return x / (FloatVec(1.0f) + t.neg().exp()); }

inline FloatVec Gelu(FloatVec x) {
  const FloatVec root_half(static_cast<float>(M_SQRT1_2));
  return x * FloatVec(0.5f) * (FloatVec(1.0f) + (x * root_half).erf());
}

inline FloatVec NormalBelow(FloatVec x) {
  const FloatVec root_half(static_cast<float>(M_SQRT1_2));
  return FloatVec(0.5f) * (FloatVec(1.0f) + (x * root_half).erf());
}

#endif

/// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, as x / (1 + e^-2(...)).
inline FloatVec GeluTanh(FloatVec x) {
  const FloatVec beta(static_cast<float>(M_SQRT2 * M_2_SQRTPI));  // twice sqrt(2 / pi)
  return Sigmoid(x, beta * at::vec::fmadd(FloatVec(0.044715f) * x, x * x, x));
}

}  // namespace kernelmap::KM_ISA
