// The torch that kernelmap is built with.
#pragma once

#include <string_view>

namespace kernelmap {

/// "2.13.0+cpu", as torch calls itself.
std::string_view BuiltTorchVersion();
/// What it can run on: "cpu", "cuda" or "rocm".
std::string_view BuiltTorchDevice();

}  // namespace kernelmap
