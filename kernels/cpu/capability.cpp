#include "kernels/cpu/capability.h"

#include <ATen/Version.h>

#include <string>

namespace kernelmap {

Capability BestCapability() {
  static const Capability best = [] {
    // "AVX512" may get a suffix for what later machines add; those run the plain one too.
    const std::string name = at::get_cpu_capability();
    if (name.rfind("AVX512", 0) == 0) return Capability::kAvx512;
    if (name.rfind("AVX2", 0) == 0) return Capability::kAvx2;
    return Capability::kDefault;
  }();
  return best;
}

}  // namespace kernelmap
