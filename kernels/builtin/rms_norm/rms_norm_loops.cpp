#include "kernels/builtin/rms_norm/rms_norm_loops.h"

#include <cmath>

#include "kernels/cpu/row_cursor.h"
#include "kernels/cpu/simd.h"

namespace kernelmap::KM_ISA {
namespace {

// Four chains of additions hide the latency of one; the order depends on the width alone.
template <class T>
float SumOfSquares(const T* x, int64_t width) {
  FloatVec sum[4] = {FloatVec(0.0f), FloatVec(0.0f), FloatVec(0.0f), FloatVec(0.0f)};
  int64_t i = 0;
  for (; i + 2 * kBlock <= width; i += 2 * kBlock) {
    const Block a = Load(x + i), b = Load(x + i + kBlock);
    sum[0] = at::vec::fmadd(a.lo, a.lo, sum[0]);
    sum[1] = at::vec::fmadd(a.hi, a.hi, sum[1]);
    sum[2] = at::vec::fmadd(b.lo, b.lo, sum[2]);
    sum[3] = at::vec::fmadd(b.hi, b.hi, sum[3]);
  }
  for (; i < width; i += kBlock) {
    const Block a = Load(x + i, std::min(kBlock, width - i));
    sum[0] = at::vec::fmadd(a.lo, a.lo, sum[0]);
    sum[1] = at::vec::fmadd(a.hi, a.hi, sum[1]);
  }
  return at::vec::vec_reduce_all<float>([](FloatVec a, FloatVec b) { return a + b; },
                                        (sum[0] + sum[1]) + (sum[2] + sum[3]));
}

// X, W, O: element types of x, the weight and the output.
template <bool kCastFirst, class X, class W, class O>
void Row(const X* x, const W* weight, O* out, const RmsNormArgs& args) {
  const int64_t width = args.width;
  const float mean = SumOfSquares(x, width) / static_cast<float>(width);
  const FloatVec scale(1.0f / std::sqrt(mean + args.eps));
  const FloatVec offset(args.weight_offset);
  const auto normed = [&](const Block& value, const Block& w) {
    if constexpr (kCastFirst) return RoundTo<X>(value * scale) * w;
    return (value * scale) * Block{w.lo + offset, w.hi + offset};
  };
  int64_t i = 0;
  for (; i + kBlock <= width; i += kBlock) Store(out + i, normed(Load(x + i), Load(weight + i)));
  if (const int64_t rest = width - i; rest > 0) {
    Store(out + i, normed(Load(x + i, rest), Load(weight + i, rest)), rest);
  }
}

template <bool kCastFirst, class X, class W, class O>
void Run(const RmsNormArgs& args, int64_t begin, int64_t end) {
  const auto* x = static_cast<const X*>(args.x);
  const auto* weight = static_cast<const W*>(args.weight);
  auto* out = static_cast<O*>(args.out) + begin * args.width;
  RowCursor cursor(args.rows, begin);
  for (int64_t row = begin; row < end; ++row, cursor.Next(), out += args.width) {
    Row<kCastFirst>(x + cursor.offset(0), weight, out, args);
  }
}

}  // namespace

void RmsNormRows(const RmsNormArgs& args, int64_t begin, int64_t end) {
  WithType(args.x_type, [&](auto x) {
    WithType(args.weight_type, [&](auto w) {
      using X = decltype(x);
      using W = decltype(w);
      // As c10::promoteTypes: two different 16-bit types meet in float32.
      using Promoted = std::conditional_t<std::is_same_v<X, W>, X, float>;
      if (args.cast_first) {
        Run<true, X, W, Promoted>(args, begin, end);
      } else {
        Run<false, X, W, X>(args, begin, end);
      }
    });
  });
}

}  // namespace kernelmap::KM_ISA
