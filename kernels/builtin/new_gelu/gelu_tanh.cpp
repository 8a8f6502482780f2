// kernelmap::gelu_tanh: x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
//
// x of any shape and strides, float32, bfloat16, float16; the result is laid out as x is. It is
// aten::gelu(approximate="tanh"), several times as fast and more exact for negative x, rounded
// once, and so is its gradient. What the loops do not take goes to the ATen ops.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <torch/library.h>

#include <array>

#include "kernels/builtin/new_gelu/gelu_tanh_loops.h"
#include "kernels/common/checks.h"
#include "kernels/common/elementwise.h"
#include "kernels/common/stock_backward.h"
#include "kernels/cpu/parallel.h"

namespace kernelmap {
namespace {

at::Tensor GeluTanh(const at::Tensor& x) {
  if (!TakesElements(x)) return at::gelu(x, "tanh");
  static const auto loop = KM_PICK_LOOP(GeluTanhElements);
  return MapElements(x, loop);
}

at::Tensor GeluTanhBackward(const at::Tensor& grad, const at::Tensor& x, std::array<bool, 1>) {
  if (!TakesElements(x) || !TakesElements(grad)) return at::gelu_backward(grad, x, "tanh");
  CheckLike("kernelmap::gelu_tanh", "the gradient", grad, "x", x);
  const bool as_it_lies = x.is_non_overlapping_and_dense() && grad.strides() == x.strides();
  const at::Tensor dense = as_it_lies ? x : x.contiguous();
  const at::Tensor dense_grad = as_it_lies ? grad : grad.contiguous();
  at::Tensor out = at::empty_like(dense, dense.options(), at::MemoryFormat::Preserve);
  const void *from = dense.const_data_ptr(), *by = dense_grad.const_data_ptr();
  void* to = out.mutable_data_ptr();
  static const auto loop = KM_PICK_LOOP(GeluTanhGradients);
  ParallelFor(0, out.numel(), kMathGrain, [&](int64_t begin, int64_t end) {
    loop(by, from, to, dense.scalar_type(), begin, end);
  });
  return out;
}

at::Tensor GeluTanhStock(const at::Tensor& x) { return at::gelu(x, "tanh"); }

}  // namespace

TORCH_LIBRARY_FRAGMENT(kernelmap, m) {
  m.def("gelu_tanh(Tensor x) -> Tensor");
  m.def("gelu_tanh_stock(Tensor x) -> Tensor", TORCH_FN(GeluTanhStock));
  m.def("gelu_tanh_backward(Tensor grad, Tensor x, bool[1] wanted) -> Tensor");
  m.impl("gelu_tanh",
         torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, TORCH_FN(GeluTanh)));
  m.impl("gelu_tanh_backward",
         torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, TORCH_FN(GeluTanhBackward)));
  m.impl("gelu_tanh", torch::dispatch(c10::DispatchKey::Autograd, StockBackward()));
}

}  // namespace kernelmap
