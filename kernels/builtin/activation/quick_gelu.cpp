// kernelmap::quick_gelu: x sigmoid(1.702 x), in one pass.
//
// x of any shape and strides, float32, bfloat16, float16; the result is laid out as x is. It is
// computed in float32 and rounded once. Its gradient is that of the ATen operations, to which goes
// what the loop does not take.
#include <ATen/core/Tensor.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sigmoid.h>
#include <torch/library.h>

#include "kernels/builtin/activation/quick_gelu_loops.h"
#include "kernels/common/elementwise.h"
#include "kernels/common/stock_backward.h"

namespace kernelmap {
namespace {

at::Tensor QuickGeluStock(const at::Tensor& x) {
  return at::mul(x, at::sigmoid(at::mul(x, 1.702)));
}

at::Tensor QuickGelu(const at::Tensor& x) {
  if (!TakesElements(x)) return QuickGeluStock(x);
  static const auto loop = KM_PICK_LOOP(QuickGeluElements);
  return MapElements(x, loop);
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
