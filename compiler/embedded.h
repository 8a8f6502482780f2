// Files of kernels/, and of compiler/html/, that are part of the program.
#pragma once

#include <span>
#include <string_view>

namespace kernelmap {

struct EmbeddedFile {
  std::string_view name;  // relative: "kernels/layers/rms_norm.toml"
  std::string_view text;
};

/// Sorted by name.
std::span<const EmbeddedFile> EmbeddedFiles();

}  // namespace kernelmap
