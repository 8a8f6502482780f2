#include "kernels/cpu/fold_rows.h"

#include <optional>

namespace kernelmap {
namespace {

// Nothing when the shape folds to more than kMaxRowDims dimensions.
std::optional<Rows> TryFold(std::span<const at::Tensor> operands) {
  Rows rows;
  int folded = 0;
  int64_t size[kMaxRowDims];
  int64_t stride[kMaxRowOperands][kMaxRowDims] = {};
  const auto shape = operands[0].sizes();
  for (int64_t d = static_cast<int64_t>(shape.size()) - 2; d >= 0; --d) {  // innermost first
    rows.count *= shape[d];
    if (shape[d] == 1) continue;
    bool joins = folded > 0;
    for (size_t o = 0; joins && o < operands.size(); ++o) {
      joins = operands[o].stride(d) == stride[o][folded - 1] * size[folded - 1];
    }
    if (joins) {
      size[folded - 1] *= shape[d];
      continue;
    }
    if (folded == kMaxRowDims) return std::nullopt;
    size[folded] = shape[d];
    for (size_t o = 0; o < operands.size(); ++o) stride[o][folded] = operands[o].stride(d);
    ++folded;
  }
  rows.dims = folded;
  for (int d = 0; d < folded; ++d) {
    rows.size[d] = size[folded - 1 - d];
    for (size_t o = 0; o < operands.size(); ++o) rows.stride[o][d] = stride[o][folded - 1 - d];
  }
  return rows;
}

}  // namespace

Rows FoldRows(std::span<at::Tensor> operands) {
  for (at::Tensor& t : operands) {
    if (t.size(-1) > 1 && t.stride(-1) != 1) t = t.contiguous();
  }
  if (auto rows = TryFold(operands)) return *rows;
  for (at::Tensor& t : operands) t = t.contiguous();
  return *TryFold(operands);
}

}  // namespace kernelmap
