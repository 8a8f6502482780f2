// kernelmap::quick_gelu: x sigmoid(1.702 x), in one pass.
//
// x of any shape and strides, float32, bfloat16, float16; the result is laid out as x is. It is
// computed in float32 and rounded once. Its gradient is that of the ATen operations, to which goes
// what the loop does not take.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sigmoid.h>
#include <torch/library.h>

#include "kernels/builtin/activation/quick_gelu_loops.h"
#include "kernels/common/checks.h"
#include "kernels/common/stock_backward.h"
#include "kernels/cpu/parallel.h"

namespace kernelmap {
namespace {

bool Takes(const at::Tensor& x) {
  const auto type = x.scalar_type();
  return HasCpuMemory(x) && (type == at::kFloat || type == at::kBFloat16 || type == at::kHalf);
}

at::Tensor QuickGeluStock(const at::Tensor& x) {
  return at::mul(x, at::sigmoid(at::mul(x, 1.702)));
}

at::Tensor QuickGelu(const at::Tensor& x) {
  if (!Takes(x)) return QuickGeluStock(x);
  const at::Tensor dense = x.is_non_overlapping_and_dense() ? x : x.contiguous();
  at::Tensor out = at::empty_like(dense, dense.options(), at::MemoryFormat::Preserve);
  const void* from = dense.const_data_ptr();
  void* to = out.mutable_data_ptr();
  static const auto loop = KM_PICK_LOOP(QuickGeluElements);
  ParallelFor(0, out.numel(), kMathGrain,
              [&](int64_t begin, int64_t end) { loop(from, to, dense.scalar_type(), begin, end); });
  return out;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(kernelmap, m) {
  m.def("quick_gelu(Tensor x) -> Tensor");
  m.def("quick_gelu_stock(Tensor x) -> Tensor", TORCH_FN(QuickGeluStock));
  m.impl("quick_gelu",
         torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, TORCH_FN(QuickGelu)));
  m.impl("quick_gelu", torch::dispatch(c10::DispatchKey::Autograd, StockBackward()));
}

}  // namespace kernelmap
