// kernelmap::attention_capped: softmax(tanh(q k^T * scale / cap) * cap + mask) v.
//
// q [B, H, S, D], k [B, Hk, L, D], v [B, Hk, L, Dv], H a multiple of Hk; mask, where there is one,
// broadcasts to [B, H, S, L]. Scores are one matrix product in the tensors' dtype; from there to
// the weights one pass over memory, in float32. What autograd follows, and what the pass does not
// take, is the stock code.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/library.h>

#include <optional>

#include "kernels/builtin/sdpa/attention_loops.h"
#include "kernels/common/checks.h"
#include "kernels/cpu/parallel.h"

namespace kernelmap {
namespace {

bool Plain(const at::Tensor& t, const at::Tensor& q) {
  return HasCpuMemory(t) && t.numel() > 0 && t.scalar_type() == q.scalar_type() &&
         !(c10::GradMode::is_enabled() && t.requires_grad());
}

bool LoopTakes(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
               const std::optional<at::Tensor>& mask) {
  const auto type = q.scalar_type();
  if (type != at::kFloat && type != at::kBFloat16 && type != at::kHalf) return false;
  if (q.dim() != 4 || k.dim() != 4 || v.dim() != 4) return false;
  if (!Plain(q, q) || !Plain(k, q) || !Plain(v, q)) return false;
  if (q.size(0) != k.size(0) || q.size(1) % k.size(1) != 0 || q.size(3) != k.size(3)) return false;
  if (k.sizes().slice(0, 3) != v.sizes().slice(0, 3)) return false;
  if (!mask) return true;
  if (!Plain(*mask, q) || mask->dim() < 1 || mask->dim() > 4) return false;
  const int64_t shape[] = {q.size(0), q.size(1), q.size(2), k.size(2)};
  for (int64_t d = 0; d < mask->dim(); ++d) {
    if (mask->size(d) != 1 && mask->size(d) != shape[4 - mask->dim() + d]) return false;
  }
  return true;
}

at::Tensor CappedStock(const at::Tensor& q, at::Tensor k, at::Tensor v,
                       const std::optional<at::Tensor>& mask, double scale, double cap) {
  if (q.dim() == 4 && k.dim() == 4 && k.size(1) > 1 && q.size(1) > k.size(1)) {
    k = k.repeat_interleave(q.size(1) / k.size(1), 1);
  }
  if (q.dim() == 4 && v.dim() == 4 && v.size(1) > 1 && q.size(1) > v.size(1)) {
    v = v.repeat_interleave(q.size(1) / v.size(1), 1);
  }
  at::Tensor scores = at::tanh(at::matmul(q, k.transpose(-2, -1)) * scale / cap) * cap;
  if (mask) scores = scores + *mask;
  return at::matmul(at::softmax(scores, -1, at::kFloat).to(v.scalar_type()), v);
}

at::Tensor AttentionCapped(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const std::optional<at::Tensor>& mask, double scale, double cap) {
  if (!LoopTakes(q, k, v, mask)) return CappedStock(q, k, v, mask, scale, cap);
  const int64_t batch = q.size(0), heads = q.size(1), tokens = q.size(2), length = k.size(2);
  // The heads of a group share keys: their queries stand one after the other.
  const at::Tensor rows = q.reshape({batch, k.size(1), heads / k.size(1) * tokens, q.size(3)});
  const at::Tensor scores = at::matmul(rows, k.transpose(2, 3)).contiguous();
  CappedSoftmaxArgs args;
  args.scores = scores.mutable_data_ptr();
  args.type = q.scalar_type();
  args.heads = heads;
  args.tokens = tokens;
  args.length = length;
  args.scale = static_cast<float>(scale);
  args.cap = static_cast<float>(cap);
  args.mask = nullptr;
  at::Tensor dense;
  if (mask) {
    at::DimVector sizes(mask->sizes().begin(), mask->sizes().end());
    sizes.back() = length;
    dense = mask->expand(sizes);
    if (dense.stride(-1) != 1) dense = dense.contiguous();
    dense = dense.expand({batch, heads, tokens, length});
    args.mask = dense.const_data_ptr();
    args.mask_strides = {dense.stride(0), dense.stride(1), dense.stride(2)};
  }
  static const auto loop = KM_PICK_LOOP(CappedSoftmax);
  ParallelFor(0, batch * heads * tokens, std::max<int64_t>(1, kMathGrain / length),
              [&](int64_t begin, int64_t end) { loop(args, begin, end); });
  return at::matmul(scores, v).reshape({batch, heads, tokens, v.size(3)});
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(kernelmap, m) {
  m.def(
      "attention_capped(Tensor q, Tensor k, Tensor v, Tensor? mask, float scale, float cap) -> "
      "Tensor");
  m.impl("attention_capped",
         torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, TORCH_FN(AttentionCapped)));
}

}  // namespace kernelmap
