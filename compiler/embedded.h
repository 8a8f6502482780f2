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

/// The text of the file of that name; "" where there is none.
inline std::string_view EmbeddedText(std::string_view name) {
  for (const EmbeddedFile& file : EmbeddedFiles()) {
    if (file.name == name) return file.text;
  }
  return "";
}

}  // namespace kernelmap
