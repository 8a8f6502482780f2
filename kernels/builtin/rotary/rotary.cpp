// kernelmap::rotary: rotary position embedding of queries and keys, in one pass over memory.
//
//   out = q * cos + cat(-q[R/2:R], q[:R/2]) * sin     on the first R of each head; the rest is
//   copied
//
// heads_dim=1: q [B, H, S, D], k [B, Hk, S, D]; heads_dim=2: q [B, S, H, D], k [B, S, Hk, D].
// cos, sin [B or 1, S, R], R even and <= D. One dtype of float32, bfloat16, float16. Any strides.
// Each step is rounded to the dtype: results are those of the stock code, bit for bit. So are their
// strides: where R is D, memory is laid out as the input is (transposed stays transposed); where a
// rest was copied, it is contiguous, as torch.cat would have left it. Gradients of q and k come
// from the transposed rotation, rounded in the same steps; those of cos and sin, which hardly
// anyone trains, from ATen operations.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <tuple>

#include "kernels/builtin/rotary/rotary_memory.h"
#include "kernels/common/checks.h"
#include "kernels/common/stock_backward.h"
#include "kernels/cpu/parallel.h"

namespace kernelmap {
namespace {

constexpr char kOp[] = "kernelmap::rotary";

void Check(const at::Tensor& q, const at::Tensor& k, const at::Tensor& cos, const at::Tensor& sin,
           int64_t heads_dim) {
  TORCH_CHECK(heads_dim == 1 || heads_dim == 2, kOp, ": heads_dim must be 1 or 2, but is ",
              heads_dim);
  const int64_t tokens_dim = 3 - heads_dim;
  CheckFloating(kOp, "q", q, q.device());
  TORCH_CHECK(q.dim() == 4, kOp, ": q must have 4 dimensions, but has shape ", q.sizes());
  const auto check = [&](const char* name, const at::Tensor& t) {
    CheckFloating(kOp, name, t, q.device());
    TORCH_CHECK(t.scalar_type() == q.scalar_type(), kOp, ": ", name, " is ", t.scalar_type(),
                ", but q is ", q.scalar_type());
  };
  check("k", k);
  check("cos", cos);
  check("sin", sin);
  TORCH_CHECK(k.dim() == 4 && k.size(0) == q.size(0) && k.size(tokens_dim) == q.size(tokens_dim) &&
                  k.size(3) == q.size(3),
              kOp, ": k must agree with q in all dimensions but ", heads_dim, ", but has shape ",
              k.sizes(), " where q has shape ", q.sizes());
  TORCH_CHECK(cos.dim() == 3 && (cos.size(0) == q.size(0) || cos.size(0) == 1) &&
                  cos.size(1) == q.size(tokens_dim),
              kOp, ": cos must have shape [", q.size(0), " or 1, ", q.size(tokens_dim),
              ", R], but has shape ", cos.sizes());
  TORCH_CHECK(cos.size(2) <= q.size(3) && cos.size(2) % 2 == 0, kOp,
              ": the last dimension of cos must be even and at most ", q.size(3), ", but is ",
              cos.size(2));
  TORCH_CHECK(sin.sizes() == cos.sizes(), kOp, ": sin has shape ", sin.sizes(),
              ", but cos has shape ", cos.sizes());
}

std::tuple<at::Tensor, at::Tensor> RotaryCpu(const at::Tensor& q, const at::Tensor& k,
                                             const at::Tensor& cos, const at::Tensor& sin,
                                             int64_t heads_dim) {
  Check(q, k, cos, sin, heads_dim);
  at::Tensor q_in = DenseLast(q), k_in = DenseLast(k);
  at::Tensor q_out = AllocateRotated(q_in, cos.size(2)), k_out = AllocateRotated(k_in, cos.size(2));
  const at::Tensor dense_cos = DenseLast(cos), dense_sin = DenseLast(sin);
  const int64_t tokens = q.size(0) * q.size(3 - heads_dim);
  const int64_t per_token = (q.size(heads_dim) + k.size(heads_dim)) * q.size(3);
  if (tokens * per_token == 0) return {q_out, k_out};
  const RotaryArgs q_args = RotaryArguments(q_in, q_out, dense_cos, dense_sin, heads_dim);
  const RotaryArgs k_args = RotaryArguments(k_in, k_out, dense_cos, dense_sin, heads_dim);
  static const auto loop = KM_PICK_LOOP(RotaryTokens);
  const int64_t grain = std::max<int64_t>(1, kCopyGrain / per_token);
  ParallelFor(0, tokens, grain, [&](int64_t begin, int64_t end) {
    loop(q_args, begin, end);
    loop(k_args, begin, end);
  });
  return {q_out, k_out};
}

std::tuple<at::Tensor, at::Tensor> RotaryMeta(const at::Tensor& q, const at::Tensor& k,
                                              const at::Tensor& cos, const at::Tensor& sin,
                                              int64_t heads_dim) {
  Check(q, k, cos, sin, heads_dim);
  return {AllocateRotated(DenseLast(q), cos.size(2)), AllocateRotated(DenseLast(k), cos.size(2))};
}

// of q, of k, of cos, of sin
using Gradients = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

at::Tensor RotateBack(const at::Tensor& grad, const at::Tensor& like, const at::Tensor& cos,
                      const at::Tensor& sin, int64_t heads_dim) {
  const at::Tensor in = DenseLast(grad);
  at::Tensor out = at::empty_like(DenseLast(like), like.options(), at::MemoryFormat::Preserve);
  const int64_t tokens = like.size(0) * like.size(3 - heads_dim);
  const int64_t per_token = like.size(heads_dim) * like.size(3);
  if (tokens * per_token == 0) return out;
  const RotaryArgs args = RotaryArguments(in, out, cos, sin, heads_dim);
  static const auto loop = KM_PICK_LOOP(RotaryTokensBack);
  ParallelFor(0, tokens, std::max<int64_t>(1, kCopyGrain / per_token),
              [&](int64_t begin, int64_t end) { loop(args, begin, end); });
  return out;
}

// What q or k adds to the gradients of the tables, in float32.
void AddTableGradients(const at::Tensor& grad, const at::Tensor& x, int64_t heads_dim,
                       at::Tensor& cos_grad, at::Tensor& sin_grad) {
  const int64_t rotated = cos_grad.size(-1), half = rotated / 2;
  const at::Tensor g = grad.slice(-1, 0, rotated).to(at::kFloat);
  const at::Tensor h = x.slice(-1, 0, rotated).to(at::kFloat);
  const at::Tensor turned = at::cat({-h.slice(-1, half), h.slice(-1, 0, half)}, -1);
  cos_grad.add_((g * h).sum(heads_dim).sum_to_size(cos_grad.sizes()));
  sin_grad.add_((g * turned).sum(heads_dim).sum_to_size(sin_grad.sizes()));
}

Gradients RotaryBackwardCpu(const at::Tensor& q_grad, const at::Tensor& k_grad, const at::Tensor& q,
                            const at::Tensor& k, const at::Tensor& cos, const at::Tensor& sin,
                            int64_t heads_dim, std::array<bool, 4> wanted) {
  Check(q, k, cos, sin, heads_dim);
  CheckLike(kOp, "the gradient of q", q_grad, "q", q);
  CheckLike(kOp, "the gradient of k", k_grad, "k", k);
  const at::Tensor dense_cos = DenseLast(cos), dense_sin = DenseLast(sin);
  Gradients out;
  if (wanted[0]) std::get<0>(out) = RotateBack(q_grad, q, dense_cos, dense_sin, heads_dim);
  if (wanted[1]) std::get<1>(out) = RotateBack(k_grad, k, dense_cos, dense_sin, heads_dim);
  if (wanted[2] || wanted[3]) {
    at::Tensor of_cos = at::zeros(cos.sizes(), cos.options().dtype(at::kFloat));
    at::Tensor of_sin = at::zeros_like(of_cos);
    AddTableGradients(q_grad, q, heads_dim, of_cos, of_sin);
    AddTableGradients(k_grad, k, heads_dim, of_cos, of_sin);
    if (wanted[2]) std::get<2>(out) = of_cos.to(cos.scalar_type());
    if (wanted[3]) std::get<3>(out) = of_sin.to(sin.scalar_type());
  }
  return out;
}

at::Tensor RotateStock(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
  const int64_t rotated = cos.size(-1), half = rotated / 2;
  const at::Tensor first = x.slice(-1, 0, half), second = x.slice(-1, half, rotated);
  const at::Tensor turned = at::cat({-second, first}, -1);
  const at::Tensor head = x.slice(-1, 0, rotated) * cos + turned * sin;
  return rotated == x.size(-1) ? head : at::cat({head, x.slice(-1, rotated)}, -1);
}

std::tuple<at::Tensor, at::Tensor> RotaryStock(const at::Tensor& q, const at::Tensor& k,
                                               const at::Tensor& cos, const at::Tensor& sin,
                                               int64_t heads_dim) {
  const at::Tensor c = cos.unsqueeze(heads_dim), s = sin.unsqueeze(heads_dim);
  return {RotateStock(q, c, s), RotateStock(k, c, s)};
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(kernelmap, m) {
  m.def("rotary(Tensor q, Tensor k, Tensor cos, Tensor sin, int heads_dim=1) -> (Tensor, Tensor)");
  m.def(
      "rotary_stock(Tensor q, Tensor k, Tensor cos, Tensor sin, int heads_dim=1) "
      "-> (Tensor, Tensor)",
      TORCH_FN(RotaryStock));
  m.def(
      "rotary_backward(Tensor q_grad, Tensor k_grad, Tensor q, Tensor k, Tensor cos, Tensor sin, "
      "int heads_dim, bool[4] wanted) -> (Tensor, Tensor, Tensor, Tensor)");
  m.impl("rotary_backward", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(RotaryBackwardCpu)));
  m.impl("rotary", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(RotaryCpu)));
  m.impl("rotary", torch::dispatch(c10::DispatchKey::Meta, TORCH_FN(RotaryMeta)));
  m.impl("rotary", torch::dispatch(c10::DispatchKey::Autograd, StockBackward()));
}

}  // namespace kernelmap
