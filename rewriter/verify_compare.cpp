#include "rewriter/verify_compare.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace kernelmap {
namespace {

void Flatten(const c10::IValue& value, std::vector<at::Tensor>* out) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) out->push_back(value.toTensor().detach().clone());
  } else if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) Flatten(element, out);
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) Flatten(element, out);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) Flatten(entry.value(), out);
  } else if (value.isScalar()) {
    out->push_back(at::scalar_tensor(value.toScalar()));
  }
}

bool SameBytes(const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return false;
  const at::Tensor left = a.cpu().contiguous(), right = b.cpu().contiguous();
  return left.nbytes() == 0 ||
         std::memcmp(left.const_data_ptr(), right.const_data_ptr(), left.nbytes()) == 0;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void AddTensor(const at::Tensor& a, const at::Tensor& b, Difference* difference) {
  if (SameBytes(a, b)) return;
  difference->bit_exact = false;
  double max_abs = kInfinity, scale = 0;
  if (a.sizes() == b.sizes() && !a.is_complex() && !b.is_complex()) {
    const at::Tensor left = a.to(at::kDouble), right = b.to(at::kDouble);
    // Equal infinities and nan on both sides are no difference; nan on one side is infinite.
    const at::Tensor same = (left == right).logical_or(left.isnan().logical_and(right.isnan()));
    const at::Tensor distance = (left - right).abs().masked_fill(same, 0.0);
    max_abs = distance.masked_fill(distance.isnan(), kInfinity).max().item<double>();
    const at::Tensor finite = right.masked_select(right.isfinite());
    if (finite.numel() > 0) scale = finite.abs().max().item<double>();
  }
  difference->max_abs = std::max(difference->max_abs, max_abs);
  const double relative = max_abs == 0 ? 0 : scale == 0 ? kInfinity : max_abs / scale;
  difference->max_rel = std::max(difference->max_rel, relative);
}

}  // namespace

std::vector<at::Tensor> FlattenTensors(const c10::IValue& value) {
  std::vector<at::Tensor> out;
  Flatten(value, &out);
  return out;
}

void AddDifference(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b,
                   Difference* difference) {
  if (a.size() != b.size()) *difference = {kInfinity, kInfinity, false};
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) AddTensor(a[i], b[i], difference);
}

}  // namespace kernelmap
