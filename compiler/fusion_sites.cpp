#include "compiler/fusion_sites.h"

#include <algorithm>
#include <utility>

#include "compiler/catalogue.h"
#include "compiler/contains.h"

namespace kernelmap {
namespace {

// What lies under one parent: for each module of the fusion, the modules that its pattern matches.
using Found = std::vector<std::vector<const ModuleInfo*>>;

std::string WithRoot(const std::string& root, const std::string& pattern) {
  return root.empty() ? pattern : root + "." + pattern;
}

Reason ReasonFor(const char* code, std::string text) { return {code, std::move(text), ""}; }

std::optional<Reason> WrongMember(const Plan& plan, const PlanEntry& entry, const Found& found) {
  for (size_t i = 0; i < found.size(); ++i) {
    const FusionModule& wanted = entry.modules[i];
    const std::string pattern = WithRoot(plan.model_root, wanted.pattern);
    if (found[i].size() != 1) {
      return ReasonFor("member_missing", found[i].empty()
                                             ? "no module here matches `" + pattern + "`"
                                             : std::to_string(found[i].size()) +
                                                   " modules here match `" + pattern + "`");
    }
    const ModuleInfo& module = *found[i].front();
    if (!AnswersToMember(plan, module.class_name, wanted.name)) {
      return ReasonFor("member_class", "`" + module.path + "` is a " + module.class_name +
                                           ", which is no " + wanted.name);
    }
  }
  return std::nullopt;
}

Site SiteOf(const Plan& plan, const PlanEntry& entry, const std::string& parent,
            const Found& found) {
  Site site;
  site.path = parent;
  site.name = entry.name;
  site.source = entry.source;
  for (const auto& matches : found) {
    for (const ModuleInfo* module : matches) site.members.push_back(module->path);
  }
  if (entry.decision == Decision::kDisabled) {
    site.action = Action::kDisabled;
    site.reason = entry.reason;
  } else if (IsExcluded(entry, parent, plan.model_root)) {
    site.action = Action::kExcluded;
    site.reason = ReasonOf("excluded");
  } else if (entry.decision == Decision::kFallback) {
    site.action = Action::kFallback;
    site.reason = entry.reason;
  } else if (std::optional<Reason> wrong = WrongMember(plan, entry, found)) {
    site.action = Action::kFallback;
    site.reason = std::move(wrong);
  } else {
    site.action = Action::kCandidate;
    site.kernel = entry.kernel;
  }
  return site;
}

}  // namespace

bool IsExcluded(const PlanEntry& entry, std::string_view path, std::string_view root) {
  return (!entry.only.empty() && !PathMatches(path, root, entry.only)) ||
         PathMatches(path, root, entry.except);
}

bool AnswersToMember(const Plan& plan, std::string_view class_name, std::string_view name) {
  if (class_name.ends_with(name)) return true;
  const Layer* layer = BuiltinCatalogue().FindLayer(name);
  if (layer && (Contains(layer->classes, class_name) || !layer->HintOf(class_name).empty())) {
    return true;
  }
  return std::any_of(plan.extra_classes.begin(), plan.extra_classes.end(),
                     [&](const ExtraClass& extra) {
                       return extra.name == name && extra.class_name == class_name;
                     });
}

std::map<std::string, std::vector<Site>> FusionSites(const Plan& plan,
                                                     const std::vector<ModuleInfo>& modules) {
  std::map<std::string, std::vector<Site>> sites;
  std::map<std::string_view, const ModuleInfo*> by_path;
  for (const ModuleInfo& module : modules) by_path.try_emplace(module.path, &module);
  for (const PlanEntry& entry : plan.entries) {
    if (entry.modules.empty()) continue;
    std::map<std::string, Found> parents;
    for (size_t i = 0; i < entry.modules.size(); ++i) {
      const std::string pattern = WithRoot(plan.model_root, entry.modules[i].pattern);
      for (const ModuleInfo& module : modules) {
        if (!PathMatchesPattern(module.path, pattern)) continue;
        Found& found = parents[std::string(ParentOf(module.path))];
        found.resize(entry.modules.size());
        found[i].push_back(&module);
      }
    }
    for (const auto& [parent, found] : parents) {
      Site site = SiteOf(plan, entry, parent, found);
      if (const auto at = by_path.find(parent); at != by_path.end()) {
        site.class_name = at->second->class_name;
      }
      sites[parent].push_back(std::move(site));
    }
  }
  return sites;
}

}  // namespace kernelmap
