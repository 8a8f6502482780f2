// kernelmap::rms_norm: root mean square normalisation of the last dimension, in one pass over
// memory.
//
//   h = x.float();  h = h * rsqrt(mean(h * h, -1) + eps)
//   cast_first:  weight * h.to(x.dtype)       of the dtype that x and weight promote to
//   otherwise:   ((weight.float() + weight_offset) * h).to(x.dtype)
//
// x [..., N] of any strides, weight [N]; float32, bfloat16, float16, each its own. The result is
// contiguous. Roundings are those above; only the order of the sum over N is not the stock code's.
// Results do not depend on the number of threads. Gradients: rms_norm_backward.cpp.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "kernels/builtin/rms_norm/rms_norm_loops.h"
#include "kernels/common/checks.h"
#include "kernels/common/stock_backward.h"
#include "kernels/cpu/fold_rows.h"
#include "kernels/cpu/parallel.h"

namespace kernelmap {
namespace {

constexpr char kOp[] = "kernelmap::rms_norm";

at::Tensor CheckAndAllocate(const at::Tensor& x, const at::Tensor& weight, double weight_offset,
                            bool cast_first) {
  CheckFloating(kOp, "x", x, x.device());
  CheckFloating(kOp, "weight", weight, x.device());
  TORCH_CHECK(x.dim() >= 1, kOp, ": x must have at least one dimension, but is a scalar");
  TORCH_CHECK(weight.dim() == 1 && weight.size(0) == x.size(-1), kOp, ": weight must have shape [",
              x.size(-1), "], the last dimension of x, but has shape ", weight.sizes());
  TORCH_CHECK(!cast_first || weight_offset == 0.0, kOp,
              ": weight_offset must be 0 with cast_first, but is ", weight_offset);
  const auto type =
      cast_first ? c10::promoteTypes(x.scalar_type(), weight.scalar_type()) : x.scalar_type();
  return at::empty(x.sizes(), x.options().dtype(type));
}

at::Tensor RmsNormStock(const at::Tensor& x, const at::Tensor& weight, double eps,
                        double weight_offset, bool cast_first) {
  at::Tensor h = x.to(at::kFloat);
  h = h * at::rsqrt(at::mean(h * h, -1, /*keepdim=*/true) + eps);
  if (cast_first) return weight * h.to(x.scalar_type());
  return ((weight.to(at::kFloat) + weight_offset) * h).to(x.scalar_type());
}

// A weight of one element, or one feature for many weights: stock code broadcasts.
bool Broadcasts(const at::Tensor& x, const at::Tensor& weight) {
  return x.dim() >= 1 && weight.dim() == 1 && weight.size(0) != x.size(-1) &&
         (weight.size(0) == 1 || x.size(-1) == 1);
}

at::Tensor RmsNormCpu(const at::Tensor& x, const at::Tensor& weight, double eps,
                      double weight_offset, bool cast_first) {
  if (Broadcasts(x, weight)) return RmsNormStock(x, weight, eps, weight_offset, cast_first);
  at::Tensor out = CheckAndAllocate(x, weight, weight_offset, cast_first);
  if (out.numel() == 0) return out;
  at::Tensor input[] = {x};
  const at::Tensor dense_weight = weight.contiguous();
  RmsNormArgs args;
  args.rows = FoldRows(input);
  args.x = input[0].const_data_ptr();
  args.weight = dense_weight.const_data_ptr();
  args.out = out.mutable_data_ptr();
  args.x_type = x.scalar_type();
  args.weight_type = weight.scalar_type();
  args.width = x.size(-1);
  args.eps = static_cast<float>(eps);
  args.weight_offset = static_cast<float>(weight_offset);
  args.cast_first = cast_first;
  static const auto loop = KM_PICK_LOOP(RmsNormRows);
  const int64_t grain = std::max<int64_t>(1, kCopyGrain / args.width);
  ParallelFor(0, args.rows.count, grain,
              [&](int64_t begin, int64_t end) { loop(args, begin, end); });
  return out;
}

at::Tensor RmsNormMeta(const at::Tensor& x, const at::Tensor& weight, double, double weight_offset,
                       bool cast_first) {
  return CheckAndAllocate(x, weight, weight_offset, cast_first);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(kernelmap, m) {
  m.def(
      "rms_norm(Tensor x, Tensor weight, float eps, float weight_offset=0.0, "
      "bool cast_first=True) -> Tensor");
  m.def(
      "rms_norm_stock(Tensor x, Tensor weight, float eps, float weight_offset=0.0, "
      "bool cast_first=True) -> Tensor",
      TORCH_FN(RmsNormStock));
  m.impl("rms_norm", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(RmsNormCpu)));
  m.impl("rms_norm", torch::dispatch(c10::DispatchKey::Meta, TORCH_FN(RmsNormMeta)));
  m.impl("rms_norm", torch::dispatch(c10::DispatchKey::Autograd, StockBackward()));
}

}  // namespace kernelmap
