#include "kernels/cpu/gated.h"

#include <ATen/ops/empty.h>

#include "kernels/common/checks.h"
#include "kernels/cpu/fold_rows.h"
#include "kernels/cpu/parallel.h"

namespace kernelmap {

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
  at::Tensor inputs[] = {gate, up};
  GatedArgs args;
  if (gate.is_contiguous() && up.is_contiguous()) {
    args.rows = Rows{};  // one long row
    args.width = count;
  } else {
    args.rows = FoldRows(inputs);
    args.width = gate.size(-1);
  }
  args.gate = inputs[0].const_data_ptr();
  args.up = inputs[1].const_data_ptr();
  args.out = out.mutable_data_ptr();
  args.type = gate.scalar_type();
  ParallelFor(0, count, kMathGrain, [&](int64_t begin, int64_t end) { loop(args, begin, end); });
  return out;
}

}  // namespace kernelmap
