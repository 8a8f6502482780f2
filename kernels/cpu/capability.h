// One loop, several instruction sets: a *_loops.cpp is compiled once for each
// (kernels/CMakeLists.txt) with KM_ISA as its namespace, and the op picks the best one that the
// machine runs.
//
//   my_loops.h    KM_DECLARE_LOOP(void MyLoop(const MyArgs& args, int64_t begin, int64_t end);)
//   my_loops.cpp  namespace kernelmap::KM_ISA { void MyLoop(...) {...} }
//   my.cpp        static const auto loop = KM_PICK_LOOP(MyLoop);
//
// What a *_loops.cpp defines or includes of ours lives in namespace KM_ISA: an inline function that
// all copies shared would be linked once, from whichever, and could need more than the machine has.
#pragma once

#if defined(__x86_64__)
#define KM_DECLARE_LOOP(declaration) \
  namespace kernelmap {              \
  namespace DEFAULT {                \
  declaration                        \
  }                                  \
  namespace AVX2 {                   \
  declaration                        \
  }                                  \
  namespace AVX512 {                 \
  declaration                        \
  }                                  \
  }
#define KM_PICK_LOOP(name)                                                                        \
  (::kernelmap::BestCapability() == ::kernelmap::Capability::kAvx512 ? &::kernelmap::AVX512::name \
   : ::kernelmap::BestCapability() == ::kernelmap::Capability::kAvx2                              \
       ? &::kernelmap::AVX2::name                                                                 \
       : &::kernelmap::DEFAULT::name)
#else
#define KM_DECLARE_LOOP(declaration) \
  namespace kernelmap {              \
  namespace DEFAULT {                \
  declaration                        \
  }                                  \
  }
#define KM_PICK_LOOP(name) (&::kernelmap::DEFAULT::name)
#endif

namespace kernelmap {

enum class Capability { kDefault, kAvx2, kAvx512 };

/// What libtorch itself uses on this machine; the environment variable ATEN_CPU_CAPABILITY
/// (default, avx2, avx512) lowers it for both.
Capability BestCapability();

}  // namespace kernelmap
