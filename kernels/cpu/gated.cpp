#include "kernels/cpu/gated.h"

#include <ATen/ops/empty.h>

#include "kernels/common/checks.h"
#include "kernels/cpu/fold_rows.h"
#include "kernels/cpu/parallel.h"

namespace kernelmap {
namespace {

// Of operands that hold `count` elements; a copy stands for one that cannot be walked as it lies.
GatedArgs Arguments(std::array<at::Tensor, 2>& inputs, int64_t count) {
  GatedArgs args;
  if (inputs[0].is_contiguous() && inputs[1].is_contiguous()) {
    args.rows = Rows{};  // one long row
    args.width = count;
  } else {
    args.rows = FoldRows(inputs);
    args.width = inputs[0].size(-1);
  }
  args.gate = inputs[0].const_data_ptr();
  args.up = inputs[1].const_data_ptr();
  args.out = nullptr;
  args.type = inputs[0].scalar_type();
  return args;
}

}  // namespace

at::Tensor CheckAndAllocateGated(const char* op, const at::Tensor& gate, const at::Tensor& up) {
  CheckFloating(op, "gate", gate, gate.device());
  CheckLike(op, "up", up, "gate", gate);
  return at::empty(gate.sizes(), gate.options());
}

at::Tensor RunGated(const char* op, const at::Tensor& gate, const at::Tensor& up,
                    void (*loop)(const GatedArgs& args, int64_t begin, int64_t end)) {
  at::Tensor out = CheckAndAllocateGated(op, gate, up);
  const int64_t count = out.numel();
  if (count == 0) return out;
  std::array<at::Tensor, 2> inputs{gate, up};
  GatedArgs args = Arguments(inputs, count);
  args.out = out.mutable_data_ptr();
  ParallelFor(0, count, kMathGrain, [&](int64_t begin, int64_t end) { loop(args, begin, end); });
  return out;
}

std::tuple<at::Tensor, at::Tensor> RunGatedBackward(const char* op, const at::Tensor& grad,
                                                    const at::Tensor& gate, const at::Tensor& up,
                                                    std::array<bool, 2> wanted,
                                                    void (*loop)(const GatedGradientArgs& args,
                                                                 int64_t begin, int64_t end)) {
  CheckLike(op, "the gradient", grad, "gate", gate);
  at::Tensor gate_grad = wanted[0] ? CheckAndAllocateGated(op, gate, up) : at::Tensor();
  at::Tensor up_grad = wanted[1] ? CheckAndAllocateGated(op, gate, up) : at::Tensor();
  const int64_t count = gate.numel();
  if (count == 0) return {gate_grad, up_grad};
  const at::Tensor dense_grad = grad.contiguous();
  std::array<at::Tensor, 2> inputs{gate, up};
  GatedGradientArgs args;
  args.forward = Arguments(inputs, count);
  args.grad = dense_grad.const_data_ptr();
  args.gate_grad = wanted[0] ? gate_grad.mutable_data_ptr() : nullptr;
  args.up_grad = wanted[1] ? up_grad.mutable_data_ptr() : nullptr;
  ParallelFor(0, count, kMathGrain, [&](int64_t begin, int64_t end) { loop(args, begin, end); });
  return {gate_grad, up_grad};
}

}  // namespace kernelmap
