// Version numbers: PEP 440 for kernels' refs, and the short ones of torch and CUDA.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kernelmap {

/// What is wrong with `version` after the comparison `op` of a version specifier; empty when
/// nothing is. "is not a version", "`.*` goes with `==` and `!=` only", ...
std::string VersionProblem(std::string_view op, std::string_view version);

/// A release of torch: "2.13" of "2.13", "2.13.1" or "2.13.0+cu130"; `build` is what stands after
/// the plus: "cu130", "rocm6.4".
struct TorchVersion {
  std::string release;
  std::string build;
};
std::optional<TorchVersion> ParseTorchVersion(std::string_view text);

/// Whether this is two numbers, as the versions of CUDA and ROCm are written: "13.0".
bool IsTwoNumbers(std::string_view text);

}  // namespace kernelmap
