// A parallel loop on libtorch's own threads.
//
// at::parallel_for is a header template: in a program that is not compiled with the OpenMP flags of
// libtorch it runs on one thread, in silence. The C function below lives in libtorch.
#pragma once

#include <c10/util/Exception.h>
#include <torch/csrc/stable/c/shim.h>

#include <cstdint>

namespace kernelmap {

/// Elements a thread should have at least: fewer, and starting threads costs more than it saves.
/// The first for loops that little more than copy, the second for those with an exponential each.
inline constexpr int64_t kCopyGrain = 131072;
inline constexpr int64_t kMathGrain = 32768;

/// Calls f(from, to) on disjoint ranges that cover [begin, end), at least `grain` long where there
/// is more than one. f does not throw.
template <class F>
void ParallelFor(int64_t begin, int64_t end, int64_t grain, const F& f) {
  if (end - begin <= grain) return f(begin, end);
  const auto call = [](int64_t from, int64_t to, void* function) {
    (*static_cast<const F*>(function))(from, to);
  };
  void* function = const_cast<void*>(static_cast<const void*>(&f));
  TORCH_CHECK(torch_parallel_for(begin, end, grain, call, function) == 0,
              "libtorch could not run a parallel loop");
}

}  // namespace kernelmap
