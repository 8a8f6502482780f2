#include "rewriter/fusion.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "compiler/contains.h"
#include "rewriter/fusion_parts.h"
#include "rewriter/kernel_fit.h"

namespace kernelmap {
namespace {

using expr::Edit;
using expr::Frame;
using expr::Id;
using expr::Ids;
using expr::Match;
using expr::Node;
using expr::Operand;
using expr::Refusal;

// The frames of all members in one call of the parent.
struct Call {
  int parent = -1;
  std::vector<int> members;
};

class FusionDecider {
 public:
  FusionDecider(const FusionContext& context, const PlanEntry& entry, const Site& site)
      : c_(context),
        arena_(context.execution.arena),
        kernel_(*KernelOf(entry, context.catalogue)),
        paths_(site.members),
        proof_{.paths = site.members, .frames = {}, .matches = {}} {
    for (const expr::ModulePath& module : c_.program.modules) {
      if (module.path == site.path) edit_.parent = module.object;
      for (const std::string& path : paths_) {
        if (module.path == path) objects_[path] = module.object;
      }
    }
    for (const std::string& path : paths_) edit_.members.push_back(objects_[path]);
  }

  FusionDecision Run() {
    if (const auto refusal = WholeModel()) return *refusal;
    if (const auto refusal = FindCalls()) return *refusal;
    if (IsAlready()) return std::monostate{};
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      FusionEdit edit = edit_;
      if (const auto refusal = DecideCall(calls_[i], edit)) return *refusal;
      if (i == 0) {
        first_ = std::move(edit);
      } else if (!edit.fused.edit.SameAs(first_->fused.edit) || edit.calls != first_->calls) {
        return Refusal{"other_use", "the parent's calls differ", ""};
      } else {
        first_->fused.edit.needs_contiguous |= edit.fused.edit.needs_contiguous;
      }
    }
    if (first_->shared_class && c_.classes_are_split) {
      return Refusal{"shared_code", "other modules share the class of a member or the parent", ""};
    }
    if (const auto refusal = CheckCallers(c_, paths_, *first_)) return *refusal;
    return *first_;
  }

 private:
  Refusal Of(std::size_t member, const std::string& code, const std::string& why,
             const std::string& source = "") const {
    return RefusalOf(paths_[member], code, why, source);
  }

  std::optional<Refusal> WholeModel() const {
    if (c_.execution.autocast) return Refusal{"autocast", "", ""};
    if (c_.execution.too_large) return Refusal{"too_large", "", ""};
    if (c_.execution.writes_constant) {
      return Refusal{"mutation", "a constant of the code is changed in place", ""};
    }
    std::set<int> seen;
    for (std::size_t i = 0; i < edit_.members.size(); ++i) {
      if (c_.claimed.contains(edit_.members[i])) return Of(i, "other_use", "is fused already");
      if (!seen.insert(edit_.members[i]).second) return Of(i, "other_use", "is a member twice");
    }
    return std::nullopt;
  }

  bool IsUnseen(int object) const {
    const auto& methods = c_.program.objects[object].methods;
    const auto it = methods.find("forward");
    return it != methods.end() && c_.unseen.contains(it->second);
  }

  // The calls of the parent, in each of which every member is called once.
  std::optional<Refusal> FindCalls() {
    std::map<int, std::vector<int>> by_parent;
    for (std::size_t i = 0; i < edit_.members.size(); ++i) {
      const auto it = c_.frames_of_object.find(edit_.members[i]);
      if (it == c_.frames_of_object.end() || it->second.empty()) {
        return Of(i, IsUnseen(edit_.members[i]) ? "control_flow" : "not_executed", "");
      }
      if (IsUnseen(edit_.members[i])) {
        return Of(i, "shared_code",
                  "a branch, or a method beside forward, may run it in another way");
      }
      edit_.graphs.push_back(c_.execution.frames[it->second[0]].graph);
      for (const int frame : it->second) {
        const Frame& f = c_.execution.frames[frame];
        if (f.graph != edit_.graphs[i]) return Of(i, "other_use", "is called in several ways");
        if (f.parent < 0 || c_.execution.frames[f.parent].object != edit_.parent) {
          return Of(i, "other_use", "is called by another than its parent");
        }
        std::vector<int>& members = by_parent[f.parent];
        if (members.size() != i) return Of(i, "other_use", "is not called once with the others");
        members.push_back(frame);
      }
    }
    for (const auto& [parent, members] : by_parent) {
      if (members.size() != edit_.members.size()) {
        return Of(members.size(), "other_use", "is not called once with the others");
      }
      calls_.push_back({parent, members});
    }
    return std::nullopt;
  }

  const Frame& F(int frame) const { return c_.execution.frames[frame]; }

  // The first member's code is the kernel's, and the others hand on what they get.
  bool IsAlready() const {
    std::vector<int> patterns;
    for (std::size_t i = 0; i < c_.references.size(); ++i) {
      for (const Implementation& implementation : kernel_.implementations) {
        if (c_.references[i].implementation == &implementation &&
            implementation.members.size() == paths_.size()) {
          patterns.push_back(static_cast<int>(i));
        }
      }
    }
    return std::all_of(calls_.begin(), calls_.end(), [&](const Call& call) {
      for (std::size_t i = 1; i < call.members.size(); ++i) {
        const Frame& f = F(call.members[i]);
        if (f.inputs.size() != 2 || f.result != f.inputs[1]) return false;
      }
      return c_.matcher.MatchLayer(call.members[0], patterns, nullptr).has_value();
    });
  }

  std::vector<int> PatternsOf(const std::string& layer) const {
    std::vector<int> patterns;
    for (std::size_t i = 0; i < c_.references.size(); ++i) {
      const auto& compiled = c_.references[i].compiled;
      if (!c_.references[i].implementation && compiled.layer == layer) {
        patterns.push_back(static_cast<int>(i));
      }
    }
    return patterns;
  }

  const expr::Pattern& PatternOf(const Match& match) const {
    return c_.matcher.patterns()[match.pattern];
  }

  // Proves each member; picks the implementation for the forms that were found.
  std::optional<Refusal> MatchMembers(const Call& call) {
    std::optional<Refusal> refused;
    std::map<std::pair<std::size_t, std::string>, std::optional<Match>> found;
    for (const Implementation& implementation : kernel_.implementations) {
      if (implementation.members.size() != paths_.size()) continue;
      proof_.matches.clear();
      bool forms = true;
      std::string seen;
      for (std::size_t i = 0; i < paths_.size(); ++i) {
        const FusedMember& member = implementation.members[i];
        const auto [it, fresh] = found.try_emplace({i, member.layer});
        if (fresh) {
          Refusal refusal;
          it->second = c_.matcher.MatchLayer(call.members[i], PatternsOf(member.layer), &refusal);
          if (!it->second && !refused) {
            refused = Of(i, refusal.code, refusal.difference, refusal.source);
          }
        }
        if (!it->second) break;
        proof_.matches.push_back(*it->second);
        const std::string& form = PatternOf(*it->second).reference.name;
        forms = forms && Contains(member.references, form);
        seen += (seen.empty() ? "`" : ", `") + form + "`";
      }
      if (proof_.matches.size() != paths_.size()) continue;
      proof_.implementation = &implementation;
      for (const SiteReference& reference : c_.references) {
        if (reference.implementation != &implementation || reference.problem.empty()) continue;
        return Refusal{"python_only", reference.problem, ""};
      }
      if (forms) return std::nullopt;
      if (!refused) refused = Refusal{"other_form", "the forms are " + seen, ""};
    }
    if (!refused) refused = Refusal{"no_layout", "", ""};
    return refused;
  }

  std::optional<Refusal> DecideCall(const Call& call, FusionEdit& edit) {
    if (auto refusal = MatchMembers(call)) return refusal;
    for (std::size_t i = 0; i < proof_.matches.size(); ++i) {
      if (auto refusal = Misfit(i)) return Of(i, refusal->code, refusal->difference);
      if (auto refusal = c_.matcher.Forbids(proof_.matches[i])) {
        return Of(i, refusal->code, refusal->difference, refusal->source);
      }
    }
    edit.same_input = proof_.implementation->same_input;
    proof_.parent = call.parent;
    proof_.frames = call.members;
    if (auto refusal = CheckUses(c_, proof_, edit)) return refusal;
    auto planned = expr::PlanEdit(c_.matcher, c_.program, c_.execution, proof_.matches[0]);
    if (const auto* refusal = std::get_if<Refusal>(&planned)) {
      return Of(0, refusal->code, refusal->difference);
    }
    Edit& fused = std::get<Edit>(planned);
    const std::vector<Operand> stock = std::move(fused.operands);
    fused.operands.clear();
    if (auto refusal = MakeOperands(c_, proof_, stock, edit, fused)) return refusal;
    for (const Match& match : proof_.matches)
      fused.needs_contiguous |= arena_.Viewed(match.outputs[0]);
    edit.fused = {std::move(fused), proof_.implementation, nullptr, proof_.implementation->layer,
                  ""};
    edit.shared_class = SharesClass(edit);
    for (const Match& match : proof_.matches) {
      edit.reference += (edit.reference.empty() ? "" : "+") + PatternOf(match).reference.name;
    }
    edit.model_source = arena_.Source(proof_.matches[0].outputs[0]);
    return std::nullopt;
  }

  std::optional<Refusal> Misfit(std::size_t member) const {
    Implementation part;
    const std::string prefix = proof_.implementation->members[member].name + ".";
    for (const auto& [name, rank] : proof_.implementation->rank) {
      if (name.starts_with(prefix)) part.rank[name.substr(prefix.size())] = rank;
    }
    for (const std::string& name : proof_.implementation->same_dtype) {
      if (name.starts_with(prefix)) part.same_dtype.push_back(name.substr(prefix.size()));
    }
    const Match& match = proof_.matches[member];
    return OperandMisfit(kernel_, part, arena_, PatternOf(match), match.binding);
  }

  bool SharesClass(const FusionEdit& edit) const {
    std::vector<int> objects = edit.members;
    objects.push_back(edit.parent);
    return std::any_of(objects.begin(), objects.end(), [&](int object) {
      const int type = c_.program.objects[object].type;
      return std::count_if(c_.program.objects.begin(), c_.program.objects.end(),
                           [&](const expr::Object& o) { return o.type == type; }) > 1;
    });
  }

  const FusionContext& c_;
  const expr::Arena& arena_;
  const Kernel& kernel_;
  const std::vector<std::string>& paths_;
  std::map<std::string, int> objects_;
  FusionEdit edit_;  // what holds for every call
  std::vector<Call> calls_;
  MemberProof proof_;  // of the call that is looked at
  std::optional<FusionEdit> first_;
};

}  // namespace

FusionDecision DecideFusion(const FusionContext& context, const PlanEntry& entry,
                            const Site& site) {
  if (!KernelOf(entry, context.catalogue)) return Refusal{"no_layout", "", ""};
  return FusionDecider(context, entry, site).Run();
}

}  // namespace kernelmap
