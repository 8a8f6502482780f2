// What of a config finds nothing in a model: patterns, the root before them, names and classes.
// Only the module tree is looked at, so code that is a layer whatever its class is not seen.
#pragma once

#include <string>
#include <vector>

#include "compiler/archive/module_tree.h"
#include "compiler/config.h"

namespace kernelmap {

/// No more patterns are compared than this, times the modules of the model.
inline constexpr size_t kMaxComparisons = 100'000'000;

/// Reports warnings. `model` is how messages call the file.
void CheckModel(const Config& config, const ModuleTree& tree, const std::string& model,
                Diagnostics* diagnostics);

/// Of the patterns and the root alone: what the config asks for and a plan for the model leaves
/// out. `model` is a path.
std::vector<Diagnostic> ModelPathFindings(const Config& config, const ModuleTree& tree,
                                          const std::string& model);

}  // namespace kernelmap
