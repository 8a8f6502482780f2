#include "kernels/builtin/new_gelu/gelu_tanh_loops.h"

#include "kernels/cpu/derivatives.h"

namespace kernelmap::KM_ISA {

void GeluTanhElements(const void* x, void* out, c10::ScalarType type, int64_t begin, int64_t end) {
  WithType(type, [&](auto element) {
    using T = decltype(element);
    const auto* from = static_cast<const T*>(x) + begin;
    auto* to = static_cast<T*>(out) + begin;
    const auto gelu = [](FloatVec v) { return GeluTanh(v); };
    int64_t left = end - begin;
    for (; left >= kBlock; left -= kBlock, from += kBlock, to += kBlock) {
      Store(to, Map(gelu, Load(from)));
    }
    if (left > 0) Store(to, Map(gelu, Load(from, left)), left);
  });
}

void GeluTanhGradients(const void* grad, const void* x, void* out, c10::ScalarType type,
                       int64_t begin, int64_t end) {
  WithType(type, [&](auto element) {
    using T = decltype(element);
    for (int64_t i = begin; i < end; i += kBlock) {
      const int64_t n = std::min(kBlock, end - i);
      const auto slope = [](FloatVec v) { return GeluTanhAndSlope(v).slope; };
      Store(static_cast<T*>(out) + i,
            Load(static_cast<const T*>(grad) + i, n) *
                Map(slope, Load(static_cast<const T*>(x) + i, n)),
            n);
    }
  });
}

}  // namespace kernelmap::KM_ISA
