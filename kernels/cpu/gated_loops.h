// The loop over activation(gate) * up, for *_loops.cpp: gate's activation is rounded to the dtype,
// then multiplied and rounded again, as two ATen ops would. In the gradients only that of gate's
// activation is rounded before the end.
#pragma once

#include "kernels/cpu/derivatives.h"
#include "kernels/cpu/gated_args.h"
#include "kernels/cpu/row_cursor.h"
#include "kernels/cpu/simd.h"

namespace kernelmap::KM_ISA {

/// Calls f(gate, up, element, count) for each stretch of elements [begin, end), counted through the
/// rows: pointers into memory, the number of the first element from `begin`, how many.
template <class T, class F>
inline void GatedStretches(const GatedArgs& args, int64_t begin, int64_t end, F f) {
  const auto* gate = static_cast<const T*>(args.gate);
  const auto* up = static_cast<const T*>(args.up);
  RowCursor cursor(args.rows, begin / args.width);
  int64_t column = begin % args.width;
  for (int64_t at = begin; at < end;) {
    const int64_t count = std::min(end - at, args.width - column);
    f(gate + cursor.offset(0) + column, up + cursor.offset(1) + column, at, count);
    at += count;
    column = 0;
    cursor.Next();
  }
}

/// Elements [begin, end). `activation`: FloatVec -> FloatVec.
template <class Activation>
inline void GatedElements(const GatedArgs& args, int64_t begin, int64_t end,
                          Activation activation) {
  WithType(args.type, [&](auto element) {
    using T = decltype(element);
    const auto gated = [&](const Block& g, const Block& u) {
      return RoundTo<T>(Map(activation, g)) * u;
    };
    GatedStretches<T>(args, begin, end, [&](const T* g, const T* u, int64_t at, int64_t count) {
      T* out = static_cast<T*>(args.out) + at;
      int64_t i = 0;
      for (; i + kBlock <= count; i += kBlock) Store(out + i, gated(Load(g + i), Load(u + i)));
      if (const int64_t rest = count - i; rest > 0) {
        Store(out + i, gated(Load(g + i, rest), Load(u + i, rest)), rest);
      }
    });
  });
}

/// The gradients of elements [begin, end). `activation`: FloatVec -> ValueAndSlope.
template <class Activation>
inline void GatedGradients(const GatedGradientArgs& args, int64_t begin, int64_t end,
                           Activation activation) {
  WithType(args.forward.type, [&](auto element) {
    using T = decltype(element);
    GatedStretches<T>(args.forward, begin, end,
                      [&](const T* gate, const T* up, int64_t at, int64_t count) {
                        for (int64_t i = 0; i < count; i += kBlock) {
                          const int64_t n = std::min(kBlock, count - i);
                          const Block g = Load(gate + i, n);
                          const Block grad = Load(static_cast<const T*>(args.grad) + at + i, n);
                          const ValueAndSlope lo = activation(g.lo), hi = activation(g.hi);
                          if (args.up_grad) {
                            Store(static_cast<T*>(args.up_grad) + at + i,
                                  grad * RoundTo<T>(Block{lo.value, hi.value}), n);
                          }
                          if (args.gate_grad) {
                            Store(static_cast<T*>(args.gate_grad) + at + i,
                                  grad * Load(up + i, n) * Block{lo.slope, hi.slope}, n);
                          }
                        }
                      });
  });
}

}  // namespace kernelmap::KM_ISA
