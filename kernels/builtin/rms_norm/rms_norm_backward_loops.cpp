#include "kernels/builtin/rms_norm/rms_norm_backward_loops.h"

#include <cmath>

#include "kernels/cpu/row_cursor.h"
#include "kernels/cpu/simd.h"

namespace kernelmap::KM_ISA {
namespace {

float Sum(const Block (&a)[2]) {
  return at::vec::vec_reduce_all<float>([](FloatVec x, FloatVec y) { return x + y; },
                                        (a[0].lo + a[0].hi) + (a[1].lo + a[1].hi));
}

Block MultiplyAdd(const Block& a, const Block& b, const Block& c) {
  return {at::vec::fmadd(a.lo, b.lo, c.lo), at::vec::fmadd(a.hi, b.hi, c.hi)};
}

// What the normed value is multiplied with.
template <class W>
Block Factor(const W* weight, int64_t n, FloatVec offset) {
  const Block w = Load(weight, n);
  return {w.lo + offset, w.hi + offset};
}

// With s = 1 / sqrt(mean x^2 + eps) and h = s x: the gradient of x is s (gw - h mean(gw h)), that
// of the weight the sum of g h over rows.
template <bool kCastFirst, class X, class W, class O>
void Row(const O* grad, const X* x, const W* weight, X* x_grad, float* weight_grad,
         const RmsNormArgs& args) {
  const int64_t width = args.width;
  const FloatVec offset(args.weight_offset), zero(0.0f);
  Block squares[2] = {{zero, zero}, {zero, zero}}, products[2] = {{zero, zero}, {zero, zero}};
  int chain = 0;
  for (int64_t i = 0; i < width; i += kBlock, chain ^= 1) {
    const int64_t n = std::min(kBlock, width - i);
    const Block value = Load(x + i, n);
    squares[chain] = MultiplyAdd(value, value, squares[chain]);
    products[chain] =
        MultiplyAdd(Load(grad + i, n) * Factor(weight + i, n, offset), value, products[chain]);
  }
  const float scale = 1.0f / std::sqrt(Sum(squares) / static_cast<float>(width) + args.eps);
  const FloatVec s(scale), minus_mean(-scale * Sum(products) / static_cast<float>(width));
  for (int64_t i = 0; i < width; i += kBlock) {
    const int64_t n = std::min(kBlock, width - i);
    const Block g = Load(grad + i, n), normed = Load(x + i, n) * s;
    if (x_grad) {
      const Block m{minus_mean, minus_mean};
      Store(x_grad + i, MultiplyAdd(normed, m, g * Factor(weight + i, n, offset)) * s, n);
    }
    if (weight_grad) {
      const Block h = kCastFirst ? RoundTo<X>(normed) : normed;
      Store(weight_grad + i, MultiplyAdd(g, h, Load(weight_grad + i, n)), n);
    }
  }
}

template <bool kCastFirst, class X, class W, class O>
void Run(const RmsNormGradientArgs& args, int64_t begin, int64_t end) {
  const int64_t width = args.forward.width;
  const auto* x = static_cast<const X*>(args.forward.x);
  const auto* weight = static_cast<const W*>(args.forward.weight);
  RowCursor cursor(args.forward.rows, begin * args.rows_a_chunk);
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const int64_t first = chunk * args.rows_a_chunk;
    const int64_t last = std::min(first + args.rows_a_chunk, args.forward.rows.count);
    for (int64_t row = first; row < last; ++row, cursor.Next()) {
      Row<kCastFirst>(static_cast<const O*>(args.grad) + row * width, x + cursor.offset(0), weight,
                      args.x_grad ? static_cast<X*>(args.x_grad) + row * width : nullptr,
                      args.weight_grad ? args.weight_grad + chunk * width : nullptr, args.forward);
    }
  }
}

}  // namespace

void RmsNormGradients(const RmsNormGradientArgs& args, int64_t begin, int64_t end) {
  WithType(args.forward.x_type, [&](auto x) {
    WithType(args.forward.weight_type, [&](auto w) {
      using X = decltype(x);
      using W = decltype(w);
      using Promoted = std::conditional_t<std::is_same_v<X, W>, X, float>;
      if (args.forward.cast_first) {
        Run<true, X, W, Promoted>(args, begin, end);
      } else {
        Run<false, X, W, X>(args, begin, end);
      }
    });
  });
}

}  // namespace kernelmap::KM_ISA
