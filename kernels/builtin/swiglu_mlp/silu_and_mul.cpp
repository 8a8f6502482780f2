// kernelmap::silu_and_mul: silu(gate) * up in one pass over memory.
//
// gate, up: one shape, any strides, one dtype of float32, bfloat16, float16; the halves of a fused
// gate-and-up projection are read in place. silu is rounded to the dtype before the product, as in
// the stock code. The result is contiguous and does not depend on the number of threads. Gradients
// come from one pass too, rounded once.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "kernels/builtin/swiglu_mlp/silu_and_mul_loops.h"
#include "kernels/common/stock_backward.h"
#include "kernels/cpu/gated.h"

namespace kernelmap {
namespace {

constexpr char kOp[] = "kernelmap::silu_and_mul";

at::Tensor SiluAndMulCpu(const at::Tensor& gate, const at::Tensor& up) {
  static const auto loop = KM_PICK_LOOP(SiluAndMul);
  return RunGated(kOp, gate, up, loop);
}

std::tuple<at::Tensor, at::Tensor> SiluAndMulBackwardCpu(const at::Tensor& grad,
                                                         const at::Tensor& gate,
                                                         const at::Tensor& up,
                                                         std::array<bool, 2> wanted) {
  static const auto loop = KM_PICK_LOOP(SiluAndMulGradients);
  return RunGatedBackward(kOp, grad, gate, up, wanted, loop);
}

at::Tensor SiluAndMulMeta(const at::Tensor& gate, const at::Tensor& up) {
  return CheckAndAllocateGated(kOp, gate, up);
}

at::Tensor SiluAndMulStock(const at::Tensor& gate, const at::Tensor& up) {
  return at::silu(gate) * up;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(kernelmap, m) {
  m.def("silu_and_mul(Tensor gate, Tensor up) -> Tensor");
  m.def("silu_and_mul_stock(Tensor gate, Tensor up) -> Tensor", TORCH_FN(SiluAndMulStock));
  m.def(
      "silu_and_mul_backward(Tensor grad, Tensor gate, Tensor up, bool[2] wanted) "
      "-> (Tensor, Tensor)");
  m.impl("silu_and_mul_backward",
         torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(SiluAndMulBackwardCpu)));
  m.impl("silu_and_mul", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(SiluAndMulCpu)));
  m.impl("silu_and_mul", torch::dispatch(c10::DispatchKey::Meta, TORCH_FN(SiluAndMulMeta)));
  m.impl("silu_and_mul", torch::dispatch(c10::DispatchKey::Autograd, StockBackward()));
}

}  // namespace kernelmap
