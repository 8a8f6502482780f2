// Tensor element types as TorchScript numbers them (c10::ScalarType), and what promotion makes of
// two of them. -1 is "not known".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kernelmap::expr {

using DType = int;
inline constexpr DType kUnknownDType = -1;
inline constexpr DType kUInt8 = 0, kInt8 = 1, kInt16 = 2, kInt32 = 3, kInt64 = 4;
inline constexpr DType kHalf = 5, kFloat32 = 6, kFloat64 = 7, kBoolDType = 11, kBFloat16 = 15;

bool IsFloating(DType d);
bool IsIntegral(DType d);  // without bool
/// "float32"; "dtype 8" for one without a name here.
std::string DTypeName(DType d);
std::optional<DType> DTypeFromName(std::string_view name);
/// The type of an operation on two tensors that both have dimensions; unknown for pairs that are
/// not listed (complex, quantized, float8).
DType Promote(DType a, DType b);

}  // namespace kernelmap::expr
