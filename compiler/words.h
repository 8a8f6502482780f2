// Small pieces of sentences.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kernelmap {

/// "a, b, c"
inline std::string JoinTexts(const std::vector<std::string>& texts,
                             std::string_view separator = ", ") {
  std::string joined;
  for (const std::string& text : texts) {
    if (!joined.empty()) joined += separator;
    joined += text;
  }
  return joined;
}

/// "1 site", "2 sites"
inline std::string CountOf(size_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

}  // namespace kernelmap
