// kernelmap::gelu_and_mul: gelu(gate) * up in one pass over memory.
//
// gate, up: one shape, any strides, one dtype of float32, bfloat16, float16. approximate: "none"
// (erf) or "tanh", as in aten::gelu. gelu is rounded to the dtype before the product, as in the
// stock code. The result is contiguous and does not depend on the number of threads. Gradients come
// from one pass too, rounded once.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "kernels/builtin/geglu_mlp/gelu_and_mul_loops.h"
#include "kernels/common/stock_backward.h"
#include "kernels/cpu/gated.h"

namespace kernelmap {
namespace {

constexpr char kOp[] = "kernelmap::gelu_and_mul";

bool IsTanh(c10::string_view approximate) {
  TORCH_CHECK(approximate == "none" || approximate == "tanh", kOp,
              ": approximate must be \"none\" or \"tanh\", but is \"", approximate, "\"");
  return approximate == "tanh";
}

at::Tensor GeluAndMulCpu(const at::Tensor& gate, const at::Tensor& up,
                         c10::string_view approximate) {
  static const auto exact = KM_PICK_LOOP(GeluAndMul);
  static const auto tanh = KM_PICK_LOOP(GeluTanhAndMul);
  return RunGated(kOp, gate, up, IsTanh(approximate) ? tanh : exact);
}

std::tuple<at::Tensor, at::Tensor> GeluAndMulBackwardCpu(const at::Tensor& grad,
                                                         const at::Tensor& gate,
                                                         const at::Tensor& up,
                                                         c10::string_view approximate,
                                                         std::array<bool, 2> wanted) {
  static const auto exact = KM_PICK_LOOP(GeluAndMulGradients);
  static const auto tanh = KM_PICK_LOOP(GeluTanhAndMulGradients);
  return RunGatedBackward(kOp, grad, gate, up, wanted, IsTanh(approximate) ? tanh : exact);
}

at::Tensor GeluAndMulMeta(const at::Tensor& gate, const at::Tensor& up,
                          c10::string_view approximate) {
  IsTanh(approximate);
  return CheckAndAllocateGated(kOp, gate, up);
}

at::Tensor GeluAndMulStock(const at::Tensor& gate, const at::Tensor& up,
                           c10::string_view approximate) {
  return at::gelu(gate, approximate) * up;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(kernelmap, m) {
  m.def("gelu_and_mul(Tensor gate, Tensor up, str approximate=\"none\") -> Tensor");
  m.def("gelu_and_mul_stock(Tensor gate, Tensor up, str approximate=\"none\") -> Tensor",
        TORCH_FN(GeluAndMulStock));
  m.def(
      "gelu_and_mul_backward(Tensor grad, Tensor gate, Tensor up, str approximate, bool[2] wanted) "
      "-> (Tensor, Tensor)");
  m.impl("gelu_and_mul_backward",
         torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(GeluAndMulBackwardCpu)));
  m.impl("gelu_and_mul", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(GeluAndMulCpu)));
  m.impl("gelu_and_mul", torch::dispatch(c10::DispatchKey::Meta, TORCH_FN(GeluAndMulMeta)));
  m.impl("gelu_and_mul", torch::dispatch(c10::DispatchKey::Autograd, StockBackward()));
}

}  // namespace kernelmap
