#include "kernels/builtin/rotary/rotary_loops.h"

#include "kernels/cpu/simd.h"

namespace kernelmap::KM_ISA {
namespace {

// a * b + c * d, each step rounded to T.
template <class T>
Block Combine(const Block& a, const Block& b, const Block& c, const Block& d) {
  return RoundTo<T>(a * b) + RoundTo<T>(c * d);
}

template <class T>
void Head(const T* in, T* out, const T* cos, const T* sin, int64_t rotated, int64_t width) {
  const int64_t half = rotated / 2;
  int64_t i = 0;
  for (; i + kBlock <= half; i += kBlock) {
    const Block a = Load(in + i), b = Load(in + half + i);
    Store(out + i, Combine<T>(a, Load(cos + i), Negate(b), Load(sin + i)));
    Store(out + half + i, Combine<T>(b, Load(cos + half + i), a, Load(sin + half + i)));
  }
  if (const int64_t n = half - i; n > 0) {
    const Block a = Load(in + i, n), b = Load(in + half + i, n);
    Store(out + i, Combine<T>(a, Load(cos + i, n), Negate(b), Load(sin + i, n)), n);
    Store(out + half + i, Combine<T>(b, Load(cos + half + i, n), a, Load(sin + half + i, n)), n);
  }
  std::copy(in + rotated, in + width, out + rotated);
}

// The gradient of a head from that of its rotated form: the transposed rotation.
template <class T>
void HeadBack(const T* grad, T* out, const T* cos, const T* sin, int64_t rotated, int64_t width) {
  const int64_t half = rotated / 2;
  for (int64_t i = 0; i < half; i += kBlock) {
    const int64_t n = std::min(kBlock, half - i);
    const Block a = Load(grad + i, n), b = Load(grad + half + i, n);
    Store(out + i, Combine<T>(a, Load(cos + i, n), b, Load(sin + half + i, n)), n);
    Store(out + half + i, Combine<T>(b, Load(cos + half + i, n), Negate(a), Load(sin + i, n)), n);
  }
  std::copy(grad + rotated, grad + width, out + rotated);
}

template <class T, auto kHead>
void Run(const RotaryArgs& args, int64_t begin, int64_t end) {
  const auto rotate = [&](int64_t token, int64_t head) {
    const int64_t b = token / args.tokens, s = token % args.tokens;
    const auto at = [&](const RotaryStrides& strides) {
      return b * strides.batch + s * strides.token;
    };
    kHead(static_cast<const T*>(args.in) + at(args.in_strides) + head * args.in_strides.head,
          static_cast<T*>(args.out) + at(args.out_strides) + head * args.out_strides.head,
          static_cast<const T*>(args.cos) + at(args.cos_strides),
          static_cast<const T*>(args.sin) + at(args.sin_strides), args.rotated, args.width);
  };
  // Memory is walked in the order in which the output lies.
  if (args.out_strides.head <= args.out_strides.token) {
    for (int64_t token = begin; token < end; ++token) {
      for (int64_t head = 0; head < args.heads; ++head) rotate(token, head);
    }
  } else {
    for (int64_t head = 0; head < args.heads; ++head) {
      for (int64_t token = begin; token < end; ++token) rotate(token, head);
    }
  }
}

}  // namespace

void RotaryTokens(const RotaryArgs& args, int64_t begin, int64_t end) {
  WithType(args.type, [&](auto element) {
    using T = decltype(element);
    Run<T, &Head<T>>(args, begin, end);
  });
}

void RotaryTokensBack(const RotaryArgs& args, int64_t begin, int64_t end) {
  WithType(args.type, [&](auto element) {
    using T = decltype(element);
    Run<T, &HeadBack<T>>(args, begin, end);
  });
}

}  // namespace kernelmap::KM_ISA
