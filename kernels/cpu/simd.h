// Vectors of float over float32, bfloat16 and float16 memory, for *_loops.cpp only.
//
// A loop works in blocks of kBlock elements, widened to two float vectors whatever the element
// type; the last, partial block has a count in [1, kBlock). Lanes past the count load as zero and
// are not stored. Storing rounds to nearest even, as libtorch does.
#pragma once

#include <ATen/cpu/vec/functional.h>
#include <ATen/cpu/vec/vec.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace kernelmap::KM_ISA {

using FloatVec = at::vec::Vectorized<float>;
inline constexpr int64_t kLanes = FloatVec::size();
inline constexpr int64_t kBlock = 2 * kLanes;

struct Block {
  FloatVec lo, hi;
};

template <class F>
inline Block Map(F f, const Block& a) {
  return {f(a.lo), f(a.hi)};
}

inline Block operator+(const Block& a, const Block& b) { return {a.lo + b.lo, a.hi + b.hi}; }
inline Block operator*(const Block& a, const Block& b) { return {a.lo * b.lo, a.hi * b.hi}; }
inline Block operator*(const Block& a, FloatVec b) { return {a.lo * b, a.hi * b}; }
inline Block Negate(const Block& a) { return {a.lo.neg(), a.hi.neg()}; }

template <class T>
inline Block Load(const T* from) {
  if constexpr (std::is_same_v<T, float>) {
    return {FloatVec::loadu(from), FloatVec::loadu(from + kLanes)};
  } else {
    auto [lo, hi] = at::vec::convert_to_float<T>(at::vec::Vectorized<T>::loadu(from));
    return {lo, hi};
  }
}

template <class T>
inline Block Load(const T* from, int64_t count) {
  if constexpr (std::is_same_v<T, float>) {
    const int64_t low = std::min(count, kLanes);
    return {FloatVec::loadu(from, low),
            count > kLanes ? FloatVec::loadu(from + kLanes, count - kLanes) : FloatVec(0.0f)};
  } else {
    auto [lo, hi] = at::vec::convert_to_float<T>(at::vec::Vectorized<T>::loadu(from, count));
    return {lo, hi};
  }
}

template <class T>
inline void Store(T* to, const Block& value) {
  if constexpr (std::is_same_v<T, float>) {
    value.lo.store(to);
    value.hi.store(to + kLanes);
  } else {
    at::vec::convert_from_float<T>(value.lo, value.hi).store(to);
  }
}

template <class T>
inline void Store(T* to, const Block& value, int64_t count) {
  if constexpr (std::is_same_v<T, float>) {
    value.lo.store(to, static_cast<int>(std::min(count, kLanes)));
    if (count > kLanes) value.hi.store(to + kLanes, static_cast<int>(count - kLanes));
  } else {
    at::vec::convert_from_float<T>(value.lo, value.hi).store(to, static_cast<int>(count));
  }
}

/// What storing as T and loading again would give. For bfloat16, of values computed from bfloat16:
/// their nans cannot be carried into infinities by the rounding.
template <class T>
inline Block RoundTo(const Block& value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
#if defined(CPU_CAPABILITY_AVX512)
  } else if constexpr (std::is_same_v<T, c10::BFloat16>) {
    return Map(
        [](FloatVec v) -> FloatVec {
          const __m512i bits = _mm512_castps_si512(v);
          const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
          const __m512i up =
              _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
          return _mm512_castsi512_ps(_mm512_and_si512(up, _mm512_set1_epi32(-0x10000)));
        },
        value);
#elif defined(CPU_CAPABILITY_AVX2)
  } else if constexpr (std::is_same_v<T, c10::BFloat16>) {
    return Map(
        [](FloatVec v) -> FloatVec {
          const __m256i bits = _mm256_castps_si256(v);
          const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
          const __m256i up =
              _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
          return _mm256_castsi256_ps(_mm256_and_si256(up, _mm256_set1_epi32(-0x10000)));
        },
        value);
#endif
  } else {
    auto [lo, hi] =
        at::vec::convert_to_float<T>(at::vec::convert_from_float<T>(value.lo, value.hi));
    return {lo, hi};
  }
}

/// Calls f(T{}) for the C++ type of a float32, bfloat16 or float16 tensor; callers have checked.
template <class F>
inline void WithType(c10::ScalarType type, F f) {
  switch (type) {
    case c10::ScalarType::Float:
      return f(float{});
    case c10::ScalarType::BFloat16:
      return f(c10::BFloat16{});
    default:
      return f(c10::Half{});
  }
}

}  // namespace kernelmap::KM_ISA
