// kernelmap::rotary_form: the forms of rotary position embedding beside kernelmap::rotary's.
//
//   out = x * cos + turn(x) * sin
//
// interleaved: pairs are neighbours, turn is (-x1, x0, -x3, x2, …); else they are the halves.
// thin: cos and sin have a value for each of R / 2 pairs, and the features after the first R are
// copied; else they have one for each of the D features.
// wide: everything is computed in float32 and rounded once; else each step is rounded, and cos and
// sin have the dtype of q and k.
// heads_dim=1: q [B, H, S, D], k [B, Hk, S, D]; heads_dim=2: q [B, S, H, D], k [B, S, Hk, D].
// cos, sin: [B or 1, S, R / 2 or D]. The results and their strides are those of the stock code, bit
// for bit; what the loop does not take (other shapes, other dtypes of cos and sin) is the stock
// code, with its errors.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <tuple>

#include "kernels/builtin/rotary/rotary_form_loops.h"
#include "kernels/builtin/rotary/rotary_memory.h"
#include "kernels/common/checks.h"
#include "kernels/common/stock_backward.h"
#include "kernels/cpu/parallel.h"

namespace kernelmap {
namespace {

using Pair = std::tuple<at::Tensor, at::Tensor>;

at::Tensor Turn(const at::Tensor& x, bool interleaved) {
  if (interleaved) {
    return at::stack({-x.slice(-1, 1, INT64_MAX, 2), x.slice(-1, 0, INT64_MAX, 2)}, -1).flatten(-2);
  }
  const int64_t half = x.size(-1) / 2;
  return at::cat({-x.slice(-1, half), x.slice(-1, 0, half)}, -1);
}

// The first `rotated` features; all where that is negative.
at::Tensor TurnStock(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                     int64_t rotated, bool interleaved, bool wide) {
  if (rotated < 0) rotated = x.size(-1);
  at::Tensor head = x.slice(-1, 0, rotated);
  if (wide) head = head.to(at::kFloat);
  const at::Tensor turned = (head * cos + Turn(head, interleaved) * sin).to(x.scalar_type());
  return rotated == x.size(-1) ? turned : at::cat({turned, x.slice(-1, rotated)}, -1);
}

Pair RotaryFormStock(const at::Tensor& q, const at::Tensor& k, const at::Tensor& cos,
                     const at::Tensor& sin, int64_t heads_dim, bool interleaved, bool thin,
                     bool wide) {
  const auto table = [&](const at::Tensor& t) {
    at::Tensor all = thin ? (interleaved ? t.repeat_interleave(2, -1) : at::cat({t, t}, -1)) : t;
    return all.unsqueeze(heads_dim);
  };
  const at::Tensor c = table(cos), s = table(sin);
  const int64_t rotated = thin ? c.size(-1) : -1;
  return {TurnStock(q, c, s, rotated, interleaved, wide),
          TurnStock(k, c, s, rotated, interleaved, wide)};
}

bool IsLoopDType(at::ScalarType type) {
  return type == at::kFloat || type == at::kBFloat16 || type == at::kHalf;
}

bool LoopTakes(const at::Tensor& q, const at::Tensor& k, const at::Tensor& cos,
               const at::Tensor& sin, int64_t heads_dim, bool thin, bool wide) {
  const at::ScalarType type = q.scalar_type(), table = cos.scalar_type();
  if (heads_dim != 1 && heads_dim != 2) return false;
  if (!IsLoopDType(type) || !IsLoopDType(table)) return false;
  if (k.scalar_type() != type || sin.scalar_type() != table || (!wide && table != type)) {
    return false;
  }
  if (q.dim() != 4 || k.dim() != 4 || cos.dim() != 3 || sin.sizes() != cos.sizes()) return false;
  const int64_t tokens = q.size(3 - heads_dim), rotated = cos.size(2) * (thin ? 2 : 1);
  if (k.size(0) != q.size(0) || k.size(3 - heads_dim) != tokens || k.size(3) != q.size(3)) {
    return false;
  }
  return (cos.size(0) == q.size(0) || cos.size(0) == 1) && cos.size(1) == tokens &&
         rotated % 2 == 0 && rotated > 0 && (thin ? rotated <= q.size(3) : rotated == q.size(3)) &&
         q.numel() > 0 && k.numel() > 0;
}

Pair RotaryFormCpu(const at::Tensor& q, const at::Tensor& k, const at::Tensor& cos,
                   const at::Tensor& sin, int64_t heads_dim, bool interleaved, bool thin,
                   bool wide) {
  if (!LoopTakes(q, k, cos, sin, heads_dim, thin, wide) || !HasCpuMemory(q) || !HasCpuMemory(k) ||
      !HasCpuMemory(cos) || !HasCpuMemory(sin)) {
    return RotaryFormStock(q, k, cos, sin, heads_dim, interleaved, thin, wide);
  }
  const int64_t rotated = cos.size(2) * (thin ? 2 : 1);
  const at::Tensor dense_cos = DenseLast(cos), dense_sin = DenseLast(sin);
  const auto rotate = [&](const at::Tensor& x) {
    const at::Tensor in = DenseLast(x);
    at::Tensor out = AllocateRotated(in, rotated);
    RotaryFormArgs args{RotaryArguments(in, out, dense_cos, dense_sin, heads_dim),
                        cos.scalar_type(), interleaved, thin, wide};
    args.heads.rotated = rotated;
    static const auto loop = KM_PICK_LOOP(RotaryFormTokens);
    const int64_t per_token = in.size(heads_dim) * in.size(3);
    ParallelFor(0, in.size(0) * args.heads.tokens, std::max<int64_t>(1, kCopyGrain / per_token),
                [&](int64_t begin, int64_t end) { loop(args, begin, end); });
    return out;
  };
  return {rotate(q), rotate(k)};
}

Pair RotaryFormMeta(const at::Tensor& q, const at::Tensor& k, const at::Tensor& cos,
                    const at::Tensor& sin, int64_t heads_dim, bool interleaved, bool thin,
                    bool wide) {
  if (!LoopTakes(q, k, cos, sin, heads_dim, thin, wide)) {
    return RotaryFormStock(q, k, cos, sin, heads_dim, interleaved, thin, wide);
  }
  const int64_t rotated = cos.size(2) * (thin ? 2 : 1);
  return {AllocateRotated(DenseLast(q), rotated), AllocateRotated(DenseLast(k), rotated)};
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(kernelmap, m) {
  m.def(
      "rotary_form(Tensor q, Tensor k, Tensor cos, Tensor sin, int heads_dim, bool interleaved, "
      "bool thin, bool wide) -> (Tensor, Tensor)");
  m.def(
      "rotary_form_stock(Tensor q, Tensor k, Tensor cos, Tensor sin, int heads_dim, bool "
      "interleaved, bool thin, bool wide) -> (Tensor, Tensor)",
      TORCH_FN(RotaryFormStock));
  m.impl("rotary_form", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(RotaryFormCpu)));
  m.impl("rotary_form", torch::dispatch(c10::DispatchKey::Meta, TORCH_FN(RotaryFormMeta)));
  m.impl("rotary_form", torch::dispatch(c10::DispatchKey::Autograd, StockBackward()));
}

}  // namespace kernelmap
