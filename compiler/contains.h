// Whether a list of texts has one.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace kernelmap {

inline bool Contains(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace kernelmap
