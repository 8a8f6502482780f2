// kernelmap::rms_norm_backward: the gradients of kernelmap::rms_norm (rms_norm.cpp), in one pass
// over memory for each row.
//
// grad has the shape and dtype of the result, any strides. In float32 throughout, rounded once at
// the end; sums over rows are made of sums over chunks of them, whose size depends on the shape
// alone, so results do not depend on the number of threads.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "kernels/builtin/rms_norm/rms_norm_backward_loops.h"
#include "kernels/common/checks.h"
#include "kernels/cpu/fold_rows.h"
#include "kernels/cpu/parallel.h"

namespace kernelmap {
namespace {

constexpr char kOp[] = "kernelmap::rms_norm";
constexpr int64_t kMaxChunks = 64;

// In ATen operations, for a weight that stock code broadcasts in other ways than along rows.
std::tuple<at::Tensor, at::Tensor> Broadcast(const at::Tensor& grad, const at::Tensor& x,
                                             const at::Tensor& weight, double eps,
                                             double weight_offset) {
  const at::Tensor wide = x.to(at::kFloat), g = grad.to(at::kFloat);
  const at::Tensor scale = at::rsqrt(at::mean(wide * wide, -1, /*keepdim=*/true) + eps);
  const at::Tensor normed = wide * scale;
  const at::Tensor of_normed = (g * (weight.to(at::kFloat) + weight_offset)).sum_to_size(x.sizes());
  const at::Tensor mean = at::mean(of_normed * normed, -1, /*keepdim=*/true);
  return {(scale * (of_normed - normed * mean)).to(x.scalar_type()),
          (g * normed).sum_to_size(weight.sizes()).to(weight.scalar_type())};
}

std::tuple<at::Tensor, at::Tensor> RmsNormBackwardCpu(const at::Tensor& grad, const at::Tensor& x,
                                                      const at::Tensor& weight, double eps,
                                                      double weight_offset, bool cast_first,
                                                      std::array<bool, 2> wanted) {
  if (weight.size(0) != x.size(-1)) return Broadcast(grad, x, weight, eps, weight_offset);
  CheckFloating(kOp, "the gradient", grad, x.device());
  TORCH_CHECK(grad.sizes() == x.sizes(), kOp, ": the gradient has shape ", grad.sizes(),
              ", but x has shape ", x.sizes());
  std::tuple<at::Tensor, at::Tensor> out;
  if (wanted[0]) std::get<0>(out) = at::empty(x.sizes(), x.options());
  if (wanted[1]) std::get<1>(out) = at::zeros(weight.sizes(), weight.options());
  if (x.numel() == 0) return out;
  at::Tensor input[] = {x};
  const at::Tensor dense_weight = weight.contiguous();
  const auto type =
      cast_first ? c10::promoteTypes(x.scalar_type(), weight.scalar_type()) : x.scalar_type();
  const at::Tensor dense_grad = grad.to(type).contiguous();
  RmsNormGradientArgs args;
  args.forward.rows = FoldRows(input);
  args.forward.x = input[0].const_data_ptr();
  args.forward.weight = dense_weight.const_data_ptr();
  args.forward.out = nullptr;
  args.forward.x_type = x.scalar_type();
  args.forward.weight_type = weight.scalar_type();
  args.forward.width = x.size(-1);
  args.forward.eps = static_cast<float>(eps);
  args.forward.weight_offset = static_cast<float>(weight_offset);
  args.forward.cast_first = cast_first;
  args.grad = dense_grad.const_data_ptr();
  args.x_grad = wanted[0] ? std::get<0>(out).mutable_data_ptr() : nullptr;
  const int64_t rows = args.forward.rows.count;
  args.rows_a_chunk = std::max(
      {int64_t{1}, kCopyGrain / args.forward.width / 4, (rows + kMaxChunks - 1) / kMaxChunks});
  const int64_t chunks = (rows + args.rows_a_chunk - 1) / args.rows_a_chunk;
  at::Tensor sums;
  if (wanted[1]) sums = at::zeros({chunks, args.forward.width}, x.options().dtype(at::kFloat));
  args.weight_grad = wanted[1] ? sums.mutable_data_ptr<float>() : nullptr;
  static const auto loop = KM_PICK_LOOP(RmsNormGradients);
  ParallelFor(0, chunks, 1, [&](int64_t begin, int64_t end) { loop(args, begin, end); });
  if (!wanted[1]) return out;
  float* total = args.weight_grad;
  for (int64_t chunk = 1; chunk < chunks; ++chunk) {
    const float* more = args.weight_grad + chunk * args.forward.width;
    for (int64_t i = 0; i < args.forward.width; ++i) total[i] += more[i];
  }
  std::get<1>(out).copy_(sums.select(0, 0));
  return out;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(kernelmap, m) {
  m.def(
      "rms_norm_backward(Tensor grad, Tensor x, Tensor weight, float eps, float weight_offset, "
      "bool cast_first, bool[2] wanted) -> (Tensor, Tensor)");
  m.impl("rms_norm_backward", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(RmsNormBackwardCpu)));
}

}  // namespace kernelmap
