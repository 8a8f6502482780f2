// Why a module of a model is, or is not, a site of a plan: as far as the module tree tells.
#pragma once

#include <string>
#include <string_view>

#include "compiler/archive/module_tree.h"
#include "compiler/plan.h"

namespace kernelmap {

/// For people, of a module of the tree: class, the names it answers to and why, fusions it is a
/// part or the parent of, the trace and the paths of the entry, and what only applying the plan can
/// tell. `model` is how the text calls the file.
std::string ModuleExplanation(const ModuleTree& tree, const ArchiveModule& module, const Plan& plan,
                              const std::string& model);

/// The sites of a name or fusion of the plan as far as classes show them, a line each, and what
/// only applying the plan can tell.
std::string NameSites(const ModuleTree& tree, const Plan& plan, std::string_view name,
                      const std::string& model);

/// The path of the tree that was most likely meant; empty when none is near.
std::string LikelyPath(const ModuleTree& tree, const Plan& plan, const std::string& path);

}  // namespace kernelmap
