// kernelmap::attention: softmax(q k^T * scale + mask) v.
//
// q [B, H, S, D], k [B, Hk, L, D], v [B, Hk, L, Dv], H a multiple of Hk; mask, where there is one,
// broadcasts to [B, H, S, L]. It is aten::scaled_dot_product_attention but for one query token on
// the CPU, where that is slow in bfloat16 (a matrix product of one row): there the keys and values
// are read once, with everything in float32 until the result. What autograd follows goes to the
// ATen op, as does everything else that the loop does not take; so do its errors.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/library.h>

#include <optional>

#include "kernels/builtin/sdpa/attention_loops.h"
#include "kernels/common/checks.h"
#include "kernels/cpu/parallel.h"

namespace kernelmap {
namespace {

at::Tensor DenseLast(const at::Tensor& t) { return t.stride(-1) == 1 ? t : t.contiguous(); }

AttentionStrides Strides(const at::Tensor& t) { return {t.stride(0), t.stride(1), t.stride(2)}; }

at::Tensor Decode(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                  const std::optional<at::Tensor>& mask, double scale) {
  const at::Tensor dense_q = DenseLast(q), dense_k = DenseLast(k), dense_v = DenseLast(v);
  AttentionArgs args;
  args.heads = q.size(1);
  args.group = q.size(1) / k.size(1);
  args.length = k.size(2);
  args.width = q.size(3);
  args.out_width = v.size(3);
  args.scale = static_cast<float>(scale);
  args.type = q.scalar_type();
  const int64_t heads = q.size(0) * args.heads;
  at::Tensor out = at::empty({q.size(0), args.heads, 1, args.out_width}, q.options());
  at::Tensor workspace =
      at::empty({heads, AttentionWorkspace(args)}, q.options().dtype(at::kFloat));
  args.q = dense_q.const_data_ptr();
  args.k = dense_k.const_data_ptr();
  args.v = dense_v.const_data_ptr();
  args.out = out.mutable_data_ptr();
  args.workspace = workspace.mutable_data_ptr<float>();
  args.q_strides = Strides(dense_q);
  args.k_strides = Strides(dense_k);
  args.v_strides = Strides(dense_v);
  args.mask = nullptr;
  args.mask_strides = {};
  if (mask) {
    const at::Tensor wide = mask->expand({q.size(0), args.heads, 1, args.length});
    args.mask = wide.const_data_ptr();
    args.mask_strides = {wide.stride(0), wide.stride(1), wide.stride(3)};
  }
  static const auto loop = KM_PICK_LOOP(DecodeAttention);
  const int64_t grain =
      std::max<int64_t>(1, kCopyGrain / (args.length * (args.width + args.out_width)));
  ParallelFor(0, heads, grain, [&](int64_t begin, int64_t end) { loop(args, begin, end); });
  return out;
}

bool Plain(const at::Tensor& t, const at::Tensor& q) {
  return t.dim() == 4 && HasCpuMemory(t) && t.numel() > 0 && t.scalar_type() == q.scalar_type() &&
         !(c10::GradMode::is_enabled() && t.requires_grad());
}

bool IsDecode(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
              const std::optional<at::Tensor>& mask) {
  const auto type = q.scalar_type();
  if (type != at::kFloat && type != at::kBFloat16 && type != at::kHalf) return false;
  if (!Plain(q, q) || !Plain(k, q) || !Plain(v, q) || (mask && !Plain(*mask, q))) return false;
  if (q.size(2) != 1 || q.size(0) != k.size(0) || q.size(1) % k.size(1) != 0) return false;
  if (q.size(3) != k.size(3) || k.sizes().slice(0, 3) != v.sizes().slice(0, 3)) return false;
  const int64_t shape[] = {q.size(0), q.size(1), 1, k.size(2)};
  for (int d = 0; mask && d < 4; ++d) {
    if (mask->size(d) != 1 && mask->size(d) != shape[d]) return false;
  }
  return true;
}

// Whether the ATen op takes what matmul and add would broadcast.
bool SdpaTakes(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
               const std::optional<at::Tensor>& mask) {
  if (q.dim() != 4 || k.dim() != 4 || v.dim() != 4) return false;
  if (k.size(1) != v.size(1) || k.size(1) == 0 || q.size(1) % k.size(1) != 0) return false;
  if (q.size(0) != k.size(0) || q.size(0) != v.size(0) || k.size(2) != v.size(2)) return false;
  if (!mask) return true;
  if (mask->dim() < 2 || mask->dim() > 4) return false;
  const int64_t shape[] = {q.size(0), q.size(1), q.size(2), k.size(2)};
  for (int64_t d = 0; d < mask->dim(); ++d) {
    if (mask->size(d) != 1 && mask->size(d) != shape[4 - mask->dim() + d]) return false;
  }
  return true;
}

// The stock code, for shapes that only it takes. Fewer key heads than query heads are repeated.
at::Tensor AttentionStock(const at::Tensor& q, at::Tensor k, at::Tensor v,
                          const std::optional<at::Tensor>& mask, double scale) {
  if (q.dim() == 4 && k.dim() == 4 && k.size(1) > 1 && q.size(1) > k.size(1)) {
    k = k.repeat_interleave(q.size(1) / k.size(1), 1);
  }
  if (q.dim() == 4 && v.dim() == 4 && v.size(1) > 1 && q.size(1) > v.size(1)) {
    v = v.repeat_interleave(q.size(1) / v.size(1), 1);
  }
  at::Tensor scores = at::matmul(q, k.transpose(-2, -1)) * scale;
  if (mask) scores = scores + *mask;
  return at::matmul(at::softmax(scores, -1, at::kFloat).to(v.scalar_type()), v);
}

at::Tensor Attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const std::optional<at::Tensor>& mask, double scale) {
  if (IsDecode(q, k, v, mask)) return Decode(q, k, v, mask, scale);
  if (!SdpaTakes(q, k, v, mask)) return AttentionStock(q, k, v, mask, scale);
  const bool grouped = q.size(1) != k.size(1);
  return at::scaled_dot_product_attention(q, k, v, mask, 0.0, false, scale, grouped);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(kernelmap, m) {
  m.def("attention(Tensor q, Tensor k, Tensor v, Tensor? mask, float scale) -> Tensor");
  m.impl("attention",
         torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, TORCH_FN(Attention)));
}

}  // namespace kernelmap
