// What `kernelmap inspect` shows of a model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/archive/module_tree.h"

namespace kernelmap {

/// The layers of the catalogue that a class could be mapped by: those it answers to, the longest
/// name first, then those that a hint suggests.
std::vector<std::string> LayerNamesFor(std::string_view class_name);

/// kernelmap-inspect/1 (schemas/inspect.schema.json), ending in a newline. `file` is a base name.
std::string InspectToJson(const std::string& file, const Archive& archive, const ModuleTree& tree);

/// A line a module: path, class, tensors, names.
std::string InspectToText(const std::string& file, const Archive& archive, const ModuleTree& tree);

}  // namespace kernelmap
