#include <algorithm>

#include "rewriter/fusion_parts.h"
#include "rewriter/layout_facts.h"

namespace kernelmap {
namespace {

using expr::Edit;
using expr::Match;
using expr::Operand;
using expr::Refusal;

class OperandMaker {
 public:
  OperandMaker(const FusionContext& context, const MemberProof& proof)
      : c_(context), p_(proof), arena_(context.execution.arena) {}

  // What the kernel's code reads, and the parameters that are made for it.
  std::optional<Refusal> Run(const std::vector<Operand>& stock, FusionEdit& edit,
                             Edit& fused) const {
    const expr::CompiledReference* code = nullptr;
    for (const SiteReference& reference : c_.references) {
      if (reference.implementation == p_.implementation) code = &reference.compiled;
    }
    if (!code) return Refusal{"no_layout", "", ""};
    for (const std::string& name : code->parameters) {
      const auto layout = p_.implementation->layout.find(name);
      const auto size = p_.implementation->sizes.find(name);
      if (layout != p_.implementation->layout.end()) {
        if (auto refusal = MakeParameter(name, layout->second, edit, fused)) return refusal;
      } else if (size != p_.implementation->sizes.end()) {
        const auto place = PlaceOf(size->second);
        if (!place || FactsOf(*place).shape.empty()) return NoParameter(size->second);
        const std::int64_t value = FactsOf(*place).shape[0];
        fused.operands.push_back(
            {.from = Operand::From::kInt, .integer = value, .real = static_cast<double>(value)});
      } else if (auto operand = MemberOperand(name, stock)) {
        fused.operands.push_back(*operand);
      } else {
        return NoParameter(name);
      }
    }
    return std::nullopt;
  }

 private:
  const expr::Pattern& PatternOf(const Match& match) const {
    return c_.matcher.patterns()[match.pattern];
  }

  static Refusal NoParameter(const std::string& path) {
    return {"no_layout", "`" + path + "` is no parameter of the members", ""};
  }

  std::optional<Operand> MemberOperand(const std::string& name,
                                       const std::vector<Operand>& stock) const {
    for (std::size_t i = 0; i < p_.matches.size(); ++i) {
      const auto& names = PatternOf(p_.matches[i]).reference.parameters;
      const auto it = std::find(names.begin(), names.end(), name);
      if (it == names.end()) continue;
      const std::size_t at = static_cast<std::size_t>(it - names.begin());
      if (i == 0) return stock[at];
      if (const auto number = arena_.AsDouble(p_.matches[i].binding[at])) {
        return Operand{.from = Operand::From::kFloat, .real = *number};
      }
      return std::nullopt;
    }
    return std::nullopt;
  }

  // Of a layer alone: a parameter of its reference, or an attribute that one is bound to.
  std::optional<ParameterPlace> PlaceInLayer(const std::string& path) const {
    const Match& match = p_.matches[0];
    const auto& names = PatternOf(match).reference.parameters;
    const int object = c_.execution.frames[match.frame].object;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const expr::Expr& bound = arena_[match.binding[i]];
      if (bound.op != "param") continue;
      if (names[i] == path) return ParameterPlace{bound.owner, bound.label};
      const auto steps = expr::AttributePath(c_.program, object, bound.owner);
      std::string text;
      for (const std::string& step : steps ? *steps : std::vector<std::string>{}) {
        text += step + ".";
      }
      if (steps && text + bound.label == path) return ParameterPlace{bound.owner, bound.label};
    }
    return std::nullopt;
  }

  // `mlp.gate_weight`: a member as the manifest calls it, and a parameter of its reference.
  std::optional<ParameterPlace> PlaceOf(const std::string& path) const {
    if (p_.implementation->members.empty()) return PlaceInLayer(path);
    const auto dot = path.find('.');
    if (dot == std::string::npos) return std::nullopt;
    for (std::size_t i = 0; i < p_.matches.size(); ++i) {
      if (p_.implementation->members[i].name != path.substr(0, dot)) continue;
      const auto& names = PatternOf(p_.matches[i]).reference.parameters;
      const auto it = std::find(names.begin(), names.end(), path.substr(dot + 1));
      if (it == names.end()) return std::nullopt;
      const expr::Expr& bound =
          arena_[p_.matches[i].binding[static_cast<std::size_t>(it - names.begin())]];
      if (bound.op != "param") return std::nullopt;
      return ParameterPlace{bound.owner, bound.label};
    }
    return std::nullopt;
  }

  TensorFacts FactsOf(const ParameterPlace& place) const {
    const expr::Constant* tensor = c_.program.objects[place.object].Find(place.attribute);
    return {tensor->dtype, tensor->shape};
  }

  std::optional<Refusal> MakeParameter(const std::string& name, const Layout& layout,
                                       FusionEdit& edit, Edit& fused) const {
    NewParameter made{name, layout, {}};
    for (const std::string& path : layout.Parameters()) {
      const auto place = PlaceOf(path);
      if (!place) return NoParameter(path);
      made.from[path] = *place;
    }
    const auto facts =
        LayoutFacts(layout, [&](const std::string& path) { return FactsOf(made.from.at(path)); });
    if (const auto* why = std::get_if<std::string>(&facts)) return Refusal{"shape", *why, ""};
    const expr::Object& first = c_.program.objects[edit.members[0]];
    const bool kept = layout.kind == Layout::Kind::kParameter &&
                      made.from.at(layout.path) == ParameterPlace{edit.members[0], name};
    while (!kept && first.Find(made.name)) made.name += "_";
    Operand operand{.from = Operand::From::kAttribute};
    operand.path = {made.name};
    fused.operands.push_back(std::move(operand));
    edit.parameters.push_back(std::move(made));
    return std::nullopt;
  }

  const FusionContext& c_;
  const MemberProof& p_;
  const expr::Arena& arena_;
};

}  // namespace

std::optional<Refusal> MakeOperands(const FusionContext& context, const MemberProof& proof,
                                    const std::vector<Operand>& stock, FusionEdit& edit,
                                    Edit& fused) {
  return OperandMaker(context, proof).Run(stock, edit, fused);
}

}  // namespace kernelmap
