#include "kernels/builtin/rotary/rotary_form_loops.h"

#include <array>
#include <vector>

#include "kernels/cpu/simd.h"

namespace kernelmap::KM_ISA {
namespace {

// cos and sin of one token in float32, apart for the first and the second feature of each pair.
struct Tables {
  std::array<std::vector<float>, 4> values;  // cos, cos, sin, sin
  explicit Tables(int64_t pairs) {
    for (auto& v : values) v.resize(static_cast<std::size_t>(pairs + kBlock));  // read in blocks
  }
};

template <class C>
void FillOne(const C* from, int64_t pairs, const RotaryFormArgs& args, float* first,
             float* second) {
  const int64_t step = args.interleaved && !args.thin ? 2 : 1;
  const int64_t offset = args.thin ? 0 : args.interleaved ? 1 : pairs;
  for (int64_t i = 0; i < pairs; ++i) {
    first[i] = static_cast<float>(from[i * step]);
    second[i] = static_cast<float>(from[i * step + offset]);
  }
}

void Fill(Tables& tables, const RotaryFormArgs& args, int64_t cos_at, int64_t sin_at) {
  WithType(args.table_type, [&](auto element) {
    using C = decltype(element);
    const int64_t pairs = args.heads.rotated / 2;
    auto& v = tables.values;
    FillOne(static_cast<const C*>(args.heads.cos) + cos_at, pairs, args, v[0].data(), v[1].data());
    FillOne(static_cast<const C*>(args.heads.sin) + sin_at, pairs, args, v[2].data(), v[3].data());
  });
}

// a * c + b * s, each step rounded to T unless kWide.
template <class T, bool kWide>
FloatVec Combine(FloatVec a, FloatVec c, FloatVec b, FloatVec s) {
  if constexpr (kWide || std::is_same_v<T, float>) {
    return a * c + b * s;
  } else {
    const Block rounded = RoundTo<T>(Block{a * c, b * s});
    return rounded.lo + rounded.hi;
  }
}

template <class T, bool kWide>
void Neighbours(const T* in, T* out, const Tables& tables, int64_t rotated) {
  for (int64_t i = 0; i < rotated; i += kBlock) {
    const int64_t n = std::min(kBlock, rotated - i);
    const Block x = n == kBlock ? Load(in + i) : Load(in + i, n);
    const auto [a, b] = at::vec::deinterleave2<float>(x.lo, x.hi);
    const auto table = [&](int t) { return FloatVec::loadu(tables.values[t].data() + i / 2); };
    const FloatVec first = Combine<T, kWide>(a, table(0), b.neg(), table(2));
    const FloatVec second = Combine<T, kWide>(b, table(1), a, table(3));
    const auto [lo, hi] = at::vec::interleave2<float>(first, second);
    n == kBlock ? Store(out + i, Block{lo, hi}) : Store(out + i, Block{lo, hi}, n);
  }
}

template <class T, bool kWide>
Block Combine(const Block& a, const float* c, const Block& b, const float* s) {
  const Block x = Load(c), y = Load(s);
  return {Combine<T, kWide>(a.lo, x.lo, b.lo, y.lo), Combine<T, kWide>(a.hi, x.hi, b.hi, y.hi)};
}

template <class T, bool kWide>
void Halves(const T* in, T* out, const Tables& tables, int64_t rotated) {
  const int64_t half = rotated / 2;
  const auto& t = tables.values;
  for (int64_t i = 0; i < half; i += kBlock) {
    const int64_t n = std::min(kBlock, half - i);
    const Block a = n == kBlock ? Load(in + i) : Load(in + i, n);
    const Block b = n == kBlock ? Load(in + half + i) : Load(in + half + i, n);
    const Block first = Combine<T, kWide>(a, t[0].data() + i, Negate(b), t[2].data() + i);
    const Block second = Combine<T, kWide>(b, t[1].data() + i, a, t[3].data() + i);
    if (n == kBlock) {
      Store(out + i, first);
      Store(out + half + i, second);
    } else {
      Store(out + i, first, n);
      Store(out + half + i, second, n);
    }
  }
}

template <class T, bool kWide>
void Run(const RotaryFormArgs& args, int64_t begin, int64_t end) {
  const RotaryArgs& heads = args.heads;
  Tables tables(heads.rotated / 2);
  for (int64_t token = begin; token < end; ++token) {
    const int64_t b = token / heads.tokens, s = token % heads.tokens;
    const auto at = [&](const RotaryStrides& strides) {
      return b * strides.batch + s * strides.token;
    };
    Fill(tables, args, at(heads.cos_strides), at(heads.sin_strides));
    for (int64_t head = 0; head < heads.heads; ++head) {
      const T* in =
          static_cast<const T*>(heads.in) + at(heads.in_strides) + head * heads.in_strides.head;
      T* out = static_cast<T*>(heads.out) + at(heads.out_strides) + head * heads.out_strides.head;
      if (args.interleaved) {
        Neighbours<T, kWide>(in, out, tables, heads.rotated);
      } else {
        Halves<T, kWide>(in, out, tables, heads.rotated);
      }
      std::copy(in + heads.rotated, in + heads.width, out + heads.rotated);
    }
  }
}

}  // namespace

void RotaryFormTokens(const RotaryFormArgs& args, int64_t begin, int64_t end) {
  WithType(args.heads.type, [&](auto element) {
    using T = decltype(element);
    args.wide ? Run<T, true>(args, begin, end) : Run<T, false>(args, begin, end);
  });
}

}  // namespace kernelmap::KM_ISA
