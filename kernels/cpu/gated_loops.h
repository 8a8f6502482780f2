// The loop over activation(gate) * up, for *_loops.cpp: gate's activation is rounded to the dtype,
// then multiplied and rounded again, as two ATen ops would.
#pragma once

#include "kernels/cpu/gated_args.h"
#include "kernels/cpu/row_cursor.h"
#include "kernels/cpu/simd.h"

namespace kernelmap::KM_ISA {

/// Elements [begin, end), counted through the rows. `activation`: FloatVec -> FloatVec.
template <class Activation>
inline void GatedElements(const GatedArgs& args, int64_t begin, int64_t end,
                          Activation activation) {
  WithType(args.type, [&](auto element) {
    using T = decltype(element);
    const auto* gate = static_cast<const T*>(args.gate);
    const auto* up = static_cast<const T*>(args.up);
    auto* out = static_cast<T*>(args.out) + begin;
    const auto gated = [&](const Block& g, const Block& u) {
      return RoundTo<T>(Map(activation, g)) * u;
    };
    RowCursor cursor(args.rows, begin / args.width);
    int64_t column = begin % args.width;
    for (int64_t left = end - begin; left > 0;) {
      const T* g = gate + cursor.offset(0) + column;
      const T* u = up + cursor.offset(1) + column;
      const int64_t count = std::min(left, args.width - column);
      int64_t i = 0;
      for (; i + kBlock <= count; i += kBlock) Store(out + i, gated(Load(g + i), Load(u + i)));
      if (const int64_t rest = count - i; rest > 0) {
        Store(out + i, gated(Load(g + i, rest), Load(u + i, rest)), rest);
      }
      out += count;
      left -= count;
      column = 0;
      cursor.Next();
    }
  });
}

}  // namespace kernelmap::KM_ISA
