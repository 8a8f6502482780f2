// A layer alone whose kernel wants parameters that its layout makes of the module's.
//
// before: forward(self, x) reads self.gate_proj.weight and self.up_proj.weight
// after:  forward(self, x) runs the kernel on self.gate_up_weight; the others are gone
// conditions: the module is proved to be the layer, nothing else holds or reads what goes into a
// new tensor, and the module can have a class of its own
#include <algorithm>

#include "rewriter/decider.h"
#include "rewriter/fusion_parts.h"

namespace kernelmap {

using expr::Edit;
using expr::Frame;
using expr::Id;
using expr::Match;
using expr::Operand;
using expr::Refusal;

FusionContext Decider::Context() {
  return {plan_,    catalogue_,        program_, execution_, references_,
          matcher_, frames_of_object_, unseen_,  fused_,     options_.classes_are_split};
}

void Decider::MakeParameters(SiteCandidate& c, const Match& match,
                             const Implementation& implementation, Edit edit) {
  const auto& reference = matcher_.patterns()[match.pattern].reference;
  const Frame& frame = execution_.frames[match.frame];
  if (reference.function || frame.object < 0) {
    return Refuse(c, "no_layout", "a function has no parameters of its own");
  }
  if (unseen_.contains(edit.graph)) {
    return Refuse(c, "shared_code",
                  "a branch, or a method beside forward, may run it in another way");
  }
  FusionEdit made;
  made.members = {frame.object};
  made.graphs = {frame.graph};
  const std::vector<std::string> paths{c.site.path};
  const MemberProof proof{.paths = paths,
                          .frames = {match.frame},
                          .matches = {match},
                          .implementation = &implementation};
  const std::vector<Operand> stock = std::move(edit.operands);
  edit.operands.clear();
  if (const auto refusal = MakeOperands(Context(), proof, stock, made, edit)) {
    return Refuse(c, refusal->code, refusal->difference);
  }
  if (const auto refusal = UsedElsewhere(match, made)) {
    return Refuse(c, refusal->code, refusal->difference);
  }
  const int type = program_.objects[frame.object].type;
  made.shared_class = std::count_if(program_.objects.begin(), program_.objects.end(),
                                    [&](const expr::Object& o) { return o.type == type; }) > 1;
  if (made.shared_class && options_.classes_are_split) {
    return Refuse(c, "shared_code", "other modules share its class");
  }
  made.fused = {std::move(edit), &implementation, nullptr, reference.layer, reference.name};
  c.made = std::move(made);
}

std::string Decider::PathOf(const ParameterPlace& place) const {
  for (const expr::ModulePath& module : program_.modules) {
    if (module.object != place.object) continue;
    return module.path.empty() ? place.attribute : module.path + "." + place.attribute;
  }
  return place.attribute;
}

bool Decider::IsInside(int frame, int object) const {
  for (; frame >= 0; frame = execution_.frames[frame].parent) {
    if (execution_.frames[frame].object == object) return true;
  }
  return false;
}

void Decider::IndexParameters() {
  if (frames_of_parameter_) return;
  frames_of_parameter_.emplace();
  for (std::size_t i = 0; i < execution_.frames.size(); ++i) {
    for (const auto& [id, value] : execution_.frames[i].computed) {
      if (execution_.arena[id].op == "param") {
        (*frames_of_parameter_)[id].insert(static_cast<int>(i));
      }
    }
  }
  for (std::size_t o = 0; o < program_.objects.size(); ++o) {
    for (const auto& [attribute, value] : program_.objects[o].attributes) {
      if (value.kind != expr::Kind::kTensor || value.storage == 0) continue;
      places_of_storage_[value.storage].push_back({static_cast<int>(o), attribute});
    }
  }
}

std::optional<Refusal> Decider::UsedElsewhere(const Match& match, const FusionEdit& made) {
  IndexParameters();
  for (const NewParameter& parameter : made.parameters) {
    if (parameter.layout.kind == Layout::Kind::kParameter) continue;  // the very tensor
    for (const auto& [name, place] : parameter.from) {
      const expr::Constant& tensor = *program_.objects[place.object].Find(place.attribute);
      for (const ParameterPlace& other : places_of_storage_[tensor.storage]) {
        if (other == place) continue;
        return Refusal{"other_use", "`" + PathOf(place) + "` is `" + PathOf(other) + "` too", ""};
      }
      for (const Id id : match.binding) {
        const expr::Expr& e = execution_.arena[id];
        if (e.op != "param" || e.owner != place.object || e.label != place.attribute) continue;
        for (const int frame : (*frames_of_parameter_)[id]) {
          if (IsInside(frame, made.members[0])) continue;
          return Refusal{"other_use", "`" + PathOf(place) + "` is read outside of the module", ""};
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace kernelmap
