#include <algorithm>

#include "rewriter/fusion.h"

namespace kernelmap {
namespace {

bool Same(const std::optional<Position>& a, const std::optional<Position>& b) {
  if (!a || !b) return !a && !b;
  return a->file == b->file && a->line == b->line && a->column == b->column;
}

// Fusions of other patterns may have the same name.
const PlanEntry* EntryOf(const Plan& plan, const Site& site) {
  for (const PlanEntry& entry : plan.entries) {
    if (entry.name == site.name && Same(entry.source, site.source)) return &entry;
  }
  return plan.Find(site.name);
}

// The objects below `members`, them included, that run only as part of them.
std::set<int> ObjectsOf(const FusionContext& context, const std::vector<int>& members) {
  const std::set<int> roots(members.begin(), members.end());
  const auto within = [&](int frame) {
    for (; frame >= 0; frame = context.execution.frames[frame].parent) {
      if (roots.contains(context.execution.frames[frame].object)) return true;
    }
    return false;
  };
  std::set<int> objects;
  std::vector<int> stack = members;
  while (!stack.empty()) {
    const int object = stack.back();
    stack.pop_back();
    if (objects.contains(object)) continue;
    const auto frames = context.frames_of_object.find(object);
    if (frames != context.frames_of_object.end() &&
        !std::all_of(frames->second.begin(), frames->second.end(), within)) {
      continue;  // runs elsewhere too
    }
    objects.insert(object);
    for (const auto& [name, value] : context.program.objects[object].attributes) {
      if (value.kind == expr::Kind::kObject) stack.push_back(static_cast<int>(value.integer));
    }
  }
  return objects;
}

}  // namespace

void DecideFusionSite(const FusionContext& context, Site& site, std::set<int>& fused,
                      std::vector<FusionEdit>& edits) {
  const PlanEntry* entry = EntryOf(context.plan, site);
  FusionDecision decision = DecideFusion(context, *entry, site);
  if (const auto* refusal = std::get_if<expr::Refusal>(&decision)) {
    site.action = Action::kFallback;
    site.reason = ReasonOf(refusal->code, refusal->difference);
    site.model_source = refusal->source;
    return;
  }
  std::vector<int> members;
  for (const std::string& path : site.members) {
    for (const expr::ModulePath& module : context.program.modules) {
      if (module.path == path) members.push_back(module.object);
    }
  }
  fused.merge(ObjectsOf(context, members));
  site.action = Action::kAlready;
  if (auto* edit = std::get_if<FusionEdit>(&decision)) {
    site.action = Action::kFused;
    site.proof = "semantic";
    site.reference = edit->reference;
    site.model_source = edit->model_source;
    edits.push_back(std::move(*edit));
  }
}

}  // namespace kernelmap
