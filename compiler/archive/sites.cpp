#include "compiler/archive/sites.h"

#include <algorithm>
#include <map>
#include <vector>

#include "compiler/catalogue.h"
#include "compiler/fusion_sites.h"

namespace kernelmap {
namespace {

/// The answers that make a module a site. A hint alone does not, unless there is a kernel to try.
std::vector<Answer> SiteAnswers(const Plan& plan, std::string_view class_name) {
  std::vector<Answer> answers = AnswersFor(plan, class_name);
  std::erase_if(answers, [](const Answer& answer) {
    return answer.hinted && !answer.entry->from_config &&
           answer.entry->decision != Decision::kKernel;
  });
  return answers;
}

Site SiteOf(const ArchiveModule& module, const std::vector<Answer>& answers, const Plan& plan) {
  const PlanEntry& entry = *answers[0].entry;
  Site site;
  site.path = module.path;
  site.class_name = module.class_name;
  site.name = entry.name;
  for (size_t i = 1; i < answers.size(); ++i) site.also.push_back(answers[i].entry->name);
  site.source = entry.source;
  const bool outside = IsExcluded(entry, module.path, plan.model_root);
  if (entry.decision == Decision::kDisabled) {
    site.action = Action::kDisabled;
    site.reason = entry.reason;
  } else if (outside) {
    site.action = Action::kExcluded;
    site.reason = ReasonOf("excluded");
  } else if (entry.decision == Decision::kFallback) {
    site.action = Action::kFallback;
    site.reason = entry.reason;
  } else {
    site.action = Action::kCandidate;
    site.kernel = entry.kernel;
  }
  return site;
}

}  // namespace

void AddModelSites(const ModuleTree& tree, Plan* plan) {
  plan->has_sites = true;
  plan->sites.clear();
  std::map<std::string, std::vector<Answer>> by_class;
  std::vector<ModuleInfo> modules;
  for (const ArchiveModule& module : tree.modules) {
    modules.push_back({module.path, module.class_name});
  }
  std::map<std::string, std::vector<Site>> fusions = FusionSites(*plan, modules);
  for (const ArchiveModule& module : tree.modules) {
    auto [it, added] = by_class.try_emplace(module.class_name);
    if (added) it->second = SiteAnswers(*plan, module.class_name);
    if (!it->second.empty()) plan->sites.push_back(SiteOf(module, it->second, *plan));
    for (Site& site : fusions[module.path]) plan->sites.push_back(std::move(site));
    fusions.erase(module.path);  // a module that lies under two paths is one parent each
  }
}

std::string UnprovedNote(const Plan& plan) {
  std::string functions;
  for (const PlanEntry& entry : plan.entries) {
    const Layer* layer = BuiltinCatalogue().FindLayer(entry.name);
    if (layer && layer->function && entry.decision == Decision::kKernel) {
      functions += (functions.empty() ? "" : ", ") + entry.name;
    }
  }
  if (functions.empty()) return "";
  return "note: sites of functions (" + functions +
         ") have no class to go by: only apply, or plan --prove, finds them\n";
}

}  // namespace kernelmap
