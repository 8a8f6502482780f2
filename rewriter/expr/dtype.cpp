#include "rewriter/expr/dtype.h"

#include <algorithm>
#include <array>
#include <utility>

namespace kernelmap::expr {
namespace {

constexpr std::array<std::pair<DType, std::string_view>, 10> kNames = {{
    {kUInt8, "uint8"},
    {kInt8, "int8"},
    {kInt16, "int16"},
    {kInt32, "int32"},
    {kInt64, "int64"},
    {kHalf, "float16"},
    {kFloat32, "float32"},
    {kFloat64, "float64"},
    {kBoolDType, "bool"},
    {kBFloat16, "bfloat16"},
}};

}  // namespace

bool IsFloating(DType d) { return d == kHalf || d == kFloat32 || d == kFloat64 || d == kBFloat16; }

bool IsIntegral(DType d) { return d >= kUInt8 && d <= kInt64; }

std::string DTypeName(DType d) {
  for (const auto& [type, name] : kNames) {
    if (type == d) return std::string(name);
  }
  return d < 0 ? "unknown" : "dtype " + std::to_string(d);
}

std::optional<DType> DTypeFromName(std::string_view name) {
  for (const auto& [type, text] : kNames) {
    if (text == name) return type;
  }
  return std::nullopt;
}

DType Promote(DType a, DType b) {
  if (a == b) return a;
  const bool fa = IsFloating(a), fb = IsFloating(b);
  const bool ka = fa || IsIntegral(a) || a == kBoolDType;
  const bool kb = fb || IsIntegral(b) || b == kBoolDType;
  if (!ka || !kb) return kUnknownDType;
  if (fa && fb) {
    if (a == kFloat64 || b == kFloat64) return kFloat64;
    return kFloat32;  // two of float16, bfloat16, float32 that differ
  }
  if (fa) return a;
  if (fb) return b;
  if (a == kBoolDType) return b;
  if (b == kBoolDType) return a;
  if (a == kUInt8 || b == kUInt8) return std::max(a, b) == kInt8 ? kInt16 : std::max(a, b);
  return std::max(a, b);
}

}  // namespace kernelmap::expr
