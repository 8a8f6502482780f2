#include <algorithm>

#include "rewriter/decider.h"
#include "rewriter/kernel_fit.h"

namespace kernelmap {

using expr::Edit;
using expr::Id;
using expr::Match;
using expr::Refusal;

void Decider::Refuse(SiteCandidate& c, const std::string& code, const std::string& difference) {
  c.site.action = Action::kFallback;
  c.site.reason = ReasonOf(code, difference);
  c.site.proof.clear();
  c.edits.clear();
  c.made.reset();
}

bool Decider::RunsUnseen(int object) const {
  const auto& methods = program_.objects[object].methods;
  const auto it = methods.find("forward");
  return it != methods.end() && unseen_.contains(it->second);
}

std::string Decider::NoMatchCode(int object, const std::vector<int>& frames,
                                 const Refusal& refusal) const {
  if (execution_.autocast) return "autocast";
  if (frames.empty() && execution_.too_large) return "too_large";
  if (frames.empty()) return RunsUnseen(object) ? "control_flow" : "not_executed";
  return refusal.code.empty() ? "different_code" : refusal.code;
}

void Decider::SetDecision(SiteCandidate& c, Action otherwise) {
  const PlanEntry* entry = plan_.Find(c.site.name);
  c.site.action = otherwise;
  if (!entry) return;
  if (entry->decision == Decision::kDisabled) {
    c.site.action = Action::kDisabled;
    c.site.reason = entry->reason;
  } else if (IsExcluded(*entry, c.site.path, plan_.model_root)) {
    Exclude(c);
  } else if (entry->decision == Decision::kFallback && !options_.self_mode) {
    c.site.action = Action::kFallback;
    c.site.reason = entry->reason;
  }
}

void Decider::Exclude(SiteCandidate& c) {
  c.site.action = Action::kExcluded;
  c.site.reason = ReasonOf("excluded");
}

void Decider::DecideMatch(SiteCandidate& c, const Match& match) {
  const auto& reference = matcher_.patterns()[match.pattern].reference;
  c.site.reference = reference.name;
  SetDecision(c, Action::kReplaced);
  if (c.site.action != Action::kReplaced) return;
  for (const Id id : match.binding) {
    const expr::Expr& e = execution_.arena[id];
    if (e.op == "param" && fused_.contains(e.owner)) {
      return Refuse(c, "other_use", "it holds a module that is fused");
    }
  }
  if (execution_.autocast) return Refuse(c, "autocast");
  if (execution_.too_large) return Refuse(c, "too_large");
  if (execution_.writes_constant) {
    return Refuse(c, "mutation", "a constant of the code is changed in place");
  }
  const Implementation* implementation = nullptr;
  if (!options_.self_mode) {
    const PlanEntry* entry = plan_.Find(c.site.name);
    const Kernel* kernel = KernelOf(*entry, catalogue_);
    implementation =
        kernel ? FindImplementation(*kernel, reference.layer, reference.name) : nullptr;
    if (!implementation) return Refuse(c, "other_form", "the form is `" + reference.name + "`");
    if (IsKernelCode(*implementation, match)) return SetDecision(c, Action::kAlready);
    if (const std::string problem = ProblemOf(*implementation); !problem.empty()) {
      return Refuse(c, "python_only", problem);
    }
    if (const auto misfit = RankMisfit(catalogue_.FindLayer(reference.layer), execution_.arena,
                                       matcher_.patterns()[match.pattern], match.binding)) {
      return Refuse(c, misfit->code, misfit->difference);
    }
    if (const auto misfit = OperandMisfit(*kernel, *implementation, execution_.arena,
                                          matcher_.patterns()[match.pattern], match.binding)) {
      return Refuse(c, misfit->code, misfit->difference);
    }
  }
  if (const auto refusal = matcher_.Forbids(match)) {
    return Refuse(c, refusal->code, refusal->difference);
  }
  auto edit = expr::PlanEdit(matcher_, program_, execution_, match);
  if (const auto* refusal = std::get_if<Refusal>(&edit)) {
    return Refuse(c, refusal->code, refusal->difference);
  }
  c.site.proof = "semantic";
  if (implementation && !implementation->layout.empty()) {
    return MakeParameters(c, match, *implementation, std::get<Edit>(std::move(edit)));
  }
  c.edits = {{std::get<Edit>(edit), implementation, nullptr, reference.layer, reference.name}};
}

bool Decider::IsKernelCode(const Implementation& implementation, const Match& match) {
  for (std::size_t i = 0; i < references_.size(); ++i) {
    const expr::Pattern& code = matcher_.patterns()[i];
    if (references_[i].implementation != &implementation ||
        code.variables.size() != match.binding.size()) {
      continue;
    }
    return expr::Instantiate(code, match.binding, execution_.arena) == match.outputs;
  }
  return false;
}

std::string Decider::ProblemOf(const Implementation& implementation) const {
  for (const SiteReference& reference : references_) {
    if (reference.implementation == &implementation) return reference.problem;
  }
  return "";
}

void Decider::RefuseSharedCode() {
  for (SiteCandidate& c : candidates_) {
    const bool seen = std::none_of(c.edits.begin(), c.edits.end(), [&](const SiteEdit& e) {
      return unseen_.contains(e.edit.graph);
    });
    if (!seen) {
      Refuse(c, "shared_code", "a branch, or a method beside forward, may run it in another way");
    }
  }
  bool changed = true;
  while (changed) {
    changed = false;
    std::map<int, std::vector<const Edit*>> by_object;
    for (const SiteCandidate& c : candidates_) {
      for (const SiteEdit& e : c.edits) {
        by_object[execution_.frames[c.frame].object].push_back(&e.edit);
      }
    }
    for (SiteCandidate& c : candidates_) {
      for (std::size_t i = 0; i < c.edits.size(); ++i) {
        if (SharedEverywhere(c.edits[i].edit, by_object)) continue;
        Refuse(c, "shared_code");
        changed = true;
        break;
      }
      if (changed) break;
    }
  }
}

bool Decider::SharedEverywhere(const Edit& edit,
                               const std::map<int, std::vector<const Edit*>>& by_object) const {
  for (const int frame : frames_of_graph_.at(edit.graph)) {
    const auto it = by_object.find(execution_.frames[frame].object);
    if (it == by_object.end()) return false;
    if (std::none_of(it->second.begin(), it->second.end(),
                     [&](const Edit* e) { return e->SameAs(edit); })) {
      return false;
    }
  }
  return true;
}

}  // namespace kernelmap
