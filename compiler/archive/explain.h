// Why a module of a model is, or is not, a site of a plan: as far as the module tree tells.
#pragma once

#include <string>
#include <string_view>

#include "compiler/archive/module_tree.h"
#include "compiler/plan.h"

namespace kernelmap {

/// For people, of a module of the tree: class, the names it answers to and why, the paths of the
/// entry, its trace, and what only applying the plan can tell. `model` is how the text calls the
/// file.
std::string ModuleExplanation(const ModuleTree& tree, const ArchiveModule& module, const Plan& plan,
                              const std::string& model);

/// The modules whose class answers to a name of the plan, a line each.
std::string AnsweringModules(const ModuleTree& tree, const Plan& plan, std::string_view name,
                             const std::string& model);

/// The path of the tree that was most likely meant; empty when none is near.
std::string LikelyPath(const ModuleTree& tree, const Plan& plan, const std::string& path);

}  // namespace kernelmap
