// The kernels that a rewritten archive calls and that are not built in: its extra file
// kernelmap/adapters.json, from which kernelmap::load finds and binds them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/catalogue.h"
#include "compiler/store/hub_kernel.h"

namespace kernelmap {

inline constexpr const char* kAdaptersFile = "kernelmap/adapters.json";

struct EmbeddedKernel {
  KernelOrigin origin;  // repo and commit are empty of a local one
  std::string ref;      // as the report shows it
  std::string variant;  // that the plan was made with; another machine may choose another
  std::vector<Adapter> adapters;
};

struct EmbeddedKernels {
  std::string device;  // of the plan's target: "cpu"
  std::vector<EmbeddedKernel> kernels;
};

/// kernelmap-adapters/1, ending in a newline.
std::string KernelsToJson(const EmbeddedKernels& kernels);

/// Reads what KernelsToJson wrote. Archives are not trusted: nothing, and why, when it is not that,
/// or an op's name is not the one that its content gives.
std::optional<EmbeddedKernels> ReadKernels(std::string_view json, std::string* problem);

}  // namespace kernelmap
