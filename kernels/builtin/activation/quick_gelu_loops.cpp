#include "kernels/builtin/activation/quick_gelu_loops.h"

#include "kernels/cpu/math.h"

namespace kernelmap::KM_ISA {

void QuickGeluElements(const void* x, void* out, c10::ScalarType type, int64_t begin, int64_t end) {
  WithType(type, [&](auto element) {
    using T = decltype(element);
    const auto gelu = [](FloatVec v) { return Sigmoid(v, v * FloatVec(1.702f)); };
    for (int64_t i = begin; i < end; i += kBlock) {
      const int64_t n = std::min(kBlock, end - i);
      Store(static_cast<T*>(out) + i, Map(gelu, Load(static_cast<const T*>(x) + i, n)), n);
    }
  });
}

}  // namespace kernelmap::KM_ISA
