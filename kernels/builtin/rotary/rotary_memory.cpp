#include "kernels/builtin/rotary/rotary_memory.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

namespace kernelmap {
namespace {

RotaryStrides HeadStrides(const at::Tensor& t, int64_t heads_dim) {
  return {t.stride(0), t.stride(heads_dim), t.stride(3 - heads_dim)};
}

RotaryStrides TableStrides(const at::Tensor& t) {
  return {t.size(0) == 1 ? 0 : t.stride(0), 0, t.stride(1)};
}

}  // namespace

at::Tensor DenseLast(const at::Tensor& t) { return t.stride(-1) == 1 ? t : t.contiguous(); }

at::Tensor AllocateRotated(const at::Tensor& x, int64_t rotated) {
  return rotated == x.size(3) ? at::empty_like(x, x.options(), at::MemoryFormat::Preserve)
                              : at::empty(x.sizes(), x.options());
}

RotaryArgs RotaryArguments(const at::Tensor& in, const at::Tensor& out, const at::Tensor& cos,
                           const at::Tensor& sin, int64_t heads_dim) {
  RotaryArgs args;
  args.in = in.const_data_ptr();
  args.out = out.mutable_data_ptr();
  args.cos = cos.const_data_ptr();
  args.sin = sin.const_data_ptr();
  args.type = in.scalar_type();
  args.tokens = in.size(3 - heads_dim);
  args.heads = in.size(heads_dim);
  args.width = in.size(3);
  args.rotated = cos.size(2);
  args.in_strides = HeadStrides(in, heads_dim);
  args.out_strides = HeadStrides(out, heads_dim);
  args.cos_strides = TableStrides(cos);
  args.sin_strides = TableStrides(sin);
  return args;
}

}  // namespace kernelmap
