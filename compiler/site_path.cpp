#include "compiler/site_path.h"

#include <algorithm>

namespace kernelmap {

std::string ShapeOf(std::string_view path) {
  std::string shape;
  for (size_t at = 0; at < path.size();) {
    const size_t dot = std::min(path.find('.', at), path.size());
    const std::string_view segment = path.substr(at, dot - at);
    const bool number = !segment.empty() && segment.find_first_not_of("0123456789") == segment.npos;
    shape += number ? "*" : segment;
    if (dot < path.size()) shape += '.';
    at = dot + 1;
  }
  return shape;
}

}  // namespace kernelmap
