#include "rewriter/verify_compare.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
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

// Numbers of a floating dtype in their order, as whole numbers that are one apart.
at::Tensor Ordered(const at::Tensor& tensor, at::ScalarType whole) {
  const at::Tensor bits = tensor.contiguous().view(whole).to(at::kLong);
  const int64_t lowest = whole == at::kShort ? INT16_MIN : INT32_MIN;
  return at::where(bits.lt(0), lowest - bits, bits);
}

// From b to a, number by number: the most steps of the dtype. Whole numbers are steps themselves.
double MaxUlp(const at::Tensor& a, const at::Tensor& b, const at::Tensor& same, double max_abs) {
  if (a.scalar_type() != b.scalar_type()) return kInfinity;
  if (!a.is_floating_point()) return max_abs;
  const auto steps = [&](const at::Tensor& distance) {
    const at::Tensor unknown = a.isfinite().logical_and(b.isfinite()).logical_not();
    return distance.masked_fill(unknown, kInfinity).masked_fill(same, 0.0).max().item<double>();
  };
  const size_t size = a.element_size();
  if (size > 4) {  // the step at b
    const at::Tensor step = at::nextafter(b.abs(), at::full_like(b, kInfinity)) - b.abs();
    return steps((a - b).abs() / step);
  }
  if (size != 2 && size != 4) return max_abs == 0 ? 0 : kInfinity;
  const at::ScalarType whole = size == 2 ? at::kShort : at::kInt;
  return steps((Ordered(a, whole) - Ordered(b, whole)).abs().to(at::kDouble));
}

double LastPlace(at::ScalarType dtype, double number) {
  const int bits = dtype == at::kBFloat16 ? 8 : dtype == at::kHalf ? 11 : 24;
  return number == 0 ? 0 : std::ldexp(1.0, std::ilogb(number) + 1 - bits);
}

void AddTensor(const at::Tensor& a, const at::Tensor& b, Difference* difference) {
  if (SameBytes(a, b)) return;
  difference->bit_exact = false;
  double max_abs = kInfinity, scale = 0, max_ulp = kInfinity;
  if (a.sizes() == b.sizes() && !a.is_complex() && !b.is_complex()) {
    const at::Tensor left = a.to(at::kDouble), right = b.to(at::kDouble);
    // Equal infinities and nan on both sides are no difference; nan on one side is infinite.
    const at::Tensor same = (left == right).logical_or(left.isnan().logical_and(right.isnan()));
    const at::Tensor distance = (left - right).abs().masked_fill(same, 0.0);
    max_abs = distance.masked_fill(distance.isnan(), kInfinity).max().item<double>();
    max_ulp = MaxUlp(a, b, same, max_abs);
    const at::Tensor finite = right.masked_select(right.isfinite());
    if (finite.numel() > 0) scale = finite.abs().max().item<double>();
  }
  difference->max_abs = std::max(difference->max_abs, max_abs);
  const double relative = max_abs == 0 ? 0 : scale == 0 ? kInfinity : max_abs / scale;
  difference->max_rel = std::max(difference->max_rel, relative);
  difference->max_ulp = std::max(difference->max_ulp, max_ulp);
}

}  // namespace

std::vector<at::Tensor> FlattenTensors(const c10::IValue& value) {
  std::vector<at::Tensor> out;
  Flatten(value, &out);
  return out;
}

Distance DistanceFrom(const std::vector<at::Tensor>& truth, const std::vector<at::Tensor>& a) {
  Distance all;
  double squares = truth.size() == a.size() ? 0 : kInfinity;
  if (squares > 0) all.largest = kInfinity;
  for (size_t i = 0; i < std::min(truth.size(), a.size()); ++i) {
    if (truth[i].sizes() != a[i].sizes() || truth[i].is_complex() || a[i].is_complex()) {
      squares = all.largest = kInfinity;
      continue;
    }
    if (truth[i].numel() == 0) continue;
    const at::Tensor wide = truth[i].to(at::kDouble), other = a[i].to(at::kDouble);
    const at::Tensor same = (wide == other).logical_or(wide.isnan().logical_and(other.isnan()));
    at::Tensor distance = (wide - other).abs().masked_fill(same, 0.0);
    distance = distance.masked_fill(distance.isnan(), kInfinity);
    all.largest = std::max(all.largest, distance.max().item<double>());
    squares += distance.square().sum().item<double>();
    all.count += distance.numel();
    const at::Tensor finite = wide.masked_select(wide.isfinite());
    if (finite.numel() == 0) continue;
    all.unit = std::max(all.unit, LastPlace(a[i].scalar_type(), finite.abs().max().item<double>()));
  }
  if (all.count > 0) all.rms = std::sqrt(squares / static_cast<double>(all.count));
  return all;
}

void AddDifference(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b,
                   Difference* difference) {
  if (a.size() != b.size()) *difference = {kInfinity, kInfinity, kInfinity, false};
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) AddTensor(a[i], b[i], difference);
}

}  // namespace kernelmap
