// What a kernel's layers.py says of a layer, read as text: nothing runs.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kernelmap {

/// As the Python library asks: `getattr(layer, "has_backward", True)` and `can_torch_compile`,
/// False when absent. A value that is neither True nor False counts as False, and so does all of a
/// text that is no Python, or a class with more than a hundred base classes.
struct LayerFlags {
  bool found = false;  // whether the text defines the class
  bool has_backward = true;
  bool can_torch_compile = false;
};

/// The flags of the class `name`, its own or those of base classes in the same text.
LayerFlags ReadLayerFlags(std::string_view text, std::string_view name);

/// The classes that the text defines at its outermost level, each once, in order.
std::vector<std::pair<std::string, LayerFlags>> ReadLayers(std::string_view text);

}  // namespace kernelmap
