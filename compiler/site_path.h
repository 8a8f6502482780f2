// Paths of modules and sites, as people read them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kernelmap {

/// "layers.0.mlp"; "(root)" of "".
inline std::string PathText(const std::string& path) { return path.empty() ? "(root)" : path; }

/// "layers.0.mlp#1": the index tells several functions in one module apart.
inline std::string PathWithIndex(const std::string& path, const std::optional<int>& index) {
  return PathText(path) + (index ? "#" + std::to_string(*index) : "");
}

/// The path with whole numbers replaced by `*`: "layers.*.norm".
std::string ShapeOf(std::string_view path);

}  // namespace kernelmap
