// The sites of a plan's fusions: the parents under which their modules lie.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/plan.h"

namespace kernelmap {

/// For each parent path the sites of the fusions there. A parent is one that has a module which a
/// pattern of the fusion matches, `[model] root` put before it. Of a site:
///   candidate  all modules are there, of the right classes, and the entry has a kernel; whether
///              they are called one after the other is what only proving shows
///   disabled, excluded (by the parent's path)
///   fallback   with the entry's reason, or `member_missing`, `member_class`
std::map<std::string, std::vector<Site>> FusionSites(const Plan& plan,
                                                     const std::vector<ModuleInfo>& modules);

/// Whether a class answers to the name of a fusion's module: a layer's name or a class name, whole
/// or its end.
bool AnswersToMember(const Plan& plan, std::string_view class_name, std::string_view name);

/// Whether `only` and `except` leave `path` out.
bool IsExcluded(const PlanEntry& entry, std::string_view path, std::string_view root);

}  // namespace kernelmap
