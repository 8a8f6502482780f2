#include <algorithm>
#include <utility>

#include "rewriter/decider.h"
#include "rewriter/kernel_fit.h"
#include "rewriter/numeric_guard.h"

namespace kernelmap {

using expr::Refusal;

void Decider::TakeName(SiteCandidate& c, const std::vector<int>& frames) {
  const PlanEntry* entry = plan_.Find(c.site.name);
  const Kernel* kernel = entry ? KernelOf(*entry, catalogue_) : nullptr;
  const bool wanted = kernel && entry->guard == "name" && c.site.action == Action::kFallback;
  if (!wanted || frames.empty()) return;
  std::vector<SiteEdit> edits;
  for (const int frame : frames) {
    auto result = ReplaceByName(*kernel, entry->name, catalogue_.FindLayer(entry->name), program_,
                                execution_.frames[frame]);
    if (const auto* refusal = std::get_if<Refusal>(&result)) {
      return Refuse(c, refusal->code, refusal->difference);
    }
    NamedEdit& named = std::get<NamedEdit>(result);
    const std::optional<Adapter>& adapter = named.implementation->adapter;
    if (adapter && CallsOp(named.edit.graph, "kernelmap_hub::" + adapter->op)) {
      return SetDecision(c, Action::kAlready);
    }
    const std::string problem = adapter && options_.source_problem && edits.empty()
                                    ? options_.source_problem(adapter->forward)
                                    : "";
    if (!problem.empty()) return Refuse(c, "python_only", problem);
    const bool known = std::any_of(edits.begin(), edits.end(),
                                   [&](const SiteEdit& e) { return e.edit.SameAs(named.edit); });
    if (known) continue;
    edits.push_back(
        {named.edit, named.implementation.get(), named.implementation, entry->name, ""});
  }
  SetDecision(c, Action::kReplaced);
  c.site.reason.reset();
  c.site.reference.clear();
  c.site.proof = "name";
  c.edits = std::move(edits);
}

bool Decider::CallsOp(int graph, const std::string& op) const {
  const std::vector<expr::Node>& nodes = program_.graphs[graph].body.nodes;
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](const expr::Node& node) { return node.op == op; });
}

void Decider::TakeNumeric(SiteCandidate& c, const std::vector<int>& frames) {
  const PlanEntry* entry = plan_.Find(c.site.name);
  const Kernel* kernel = entry ? KernelOf(*entry, catalogue_) : nullptr;
  const bool wanted =
      kernel && entry->guard == "numeric" && options_.trial && c.site.action == Action::kFallback &&
      c.site.reason &&
      (c.site.reason->code == "different_code" || c.site.reason->code == "other_form" ||
       c.site.reason->code == "no_reference");
  if (!wanted || frames.empty()) return;
  if (execution_.autocast || execution_.too_large) return;
  std::vector<SiteEdit> edits;
  bool ran = false;
  for (const int frame : frames) {
    const expr::Frame& f = execution_.frames[frame];
    auto candidates =
        NumericCandidates(*kernel, entry->name, catalogue_.FindLayer(entry->name), program_, f);
    if (const auto* refusal = std::get_if<Refusal>(&candidates)) {
      return Refuse(c, refusal->code, refusal->difference);
    }
    const auto& list = std::get<std::vector<NamedEdit>>(candidates);
    if (std::any_of(list.begin(), list.end(), [&](const NamedEdit& named) {
          const std::optional<Adapter>& adapter = named.implementation->adapter;
          return adapter && CallsOp(f.graph, "kernelmap_hub::" + adapter->op);
        })) {
      return SetDecision(c, Action::kAlready);
    }
    modules_run_ += std::exchange(ran, true) ? 0 : 1;
    auto result = TryFrame(*entry, *kernel, f, list);
    if (const auto* refusal = std::get_if<Refusal>(&result)) {
      return Refuse(c, refusal->code, refusal->difference);
    }
    SiteEdit& edit = std::get<SiteEdit>(result);
    const bool known = std::any_of(edits.begin(), edits.end(),
                                   [&](const SiteEdit& e) { return e.edit.SameAs(edit.edit); });
    if (!known) edits.push_back(std::move(edit));
  }
  SetDecision(c, Action::kReplaced);
  c.site.reason.reset();
  c.site.reference.clear();
  c.site.proof = "numeric";
  c.edits = std::move(edits);
}

std::variant<SiteEdit, Refusal> Decider::TryFrame(const PlanEntry& entry, const Kernel& kernel,
                                                  const expr::Frame& frame,
                                                  const std::vector<NamedEdit>& candidates) {
  TrialResult closest;
  for (const NamedEdit& named : candidates) {
    TrialResult result = (*options_.trial)(entry, kernel, frame, named);
    if (!result.refusal) {
      return SiteEdit{named.edit, named.implementation.get(), named.implementation, entry.name, ""};
    }
    if (!closest.refusal || result.error < closest.error) closest = std::move(result);
  }
  return *closest.refusal;
}

}  // namespace kernelmap
