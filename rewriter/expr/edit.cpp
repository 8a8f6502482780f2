#include "rewriter/expr/edit.h"

#include <algorithm>

namespace kernelmap::expr {
namespace {

class Planner {
 public:
  Planner(Matcher& matcher, const Program& program, const Execution& execution, const Match& match)
      : matcher_(matcher),
        program_(program),
        arena_(execution.arena),
        match_(match),
        frame_(execution.frames[match.frame]),
        index_(matcher.Index(frame_.graph)) {}

  std::variant<Edit, Refusal> Plan() {
    Edit edit{.graph = frame_.graph, .pattern = match_.pattern};
    for (const Id id : match_.outputs) edit.needs_contiguous |= arena_.Viewed(id);
    const bool placed = matcher_.patterns()[match_.pattern].reference.function ? PlaceFunction(edit)
                                                                               : PlaceLayer(edit);
    if (!placed) return refusal_;
    return edit;
  }

 private:
  bool Refuse(const std::string& why) {
    refusal_ = {"escaping_value", why, ""};
    return false;
  }

  std::optional<Operand> Find(Id id, Kind wanted, const Node* before) {
    const Expr& e = arena_[id];
    if (const auto c = arena_.AsInt(id)) {
      return Operand{.from = Operand::From::kInt, .integer = *c, .real = static_cast<double>(*c)};
    }
    if (const auto c = arena_.AsDouble(id)) {
      return Operand{.from = Operand::From::kFloat, .real = *c};
    }
    for (const auto& [computed, value] : frame_.computed) {
      if (computed != id || !index_.Available(value, before)) continue;
      // A whole number may be held by a tensor here; an optional tensor is cast.
      const Kind kind = program_.graphs[frame_.graph].kinds[value];
      if (kind == wanted || (kind == Kind::kOther && wanted == Kind::kTensor)) {
        return Operand{.value = value};
      }
    }
    if (e.op == "param") {
      if (auto path = AttributePath(program_, frame_.object, e.owner)) {
        path->push_back(e.label);
        return Operand{.from = Operand::From::kAttribute, .path = *path};
      }
    }
    return std::nullopt;
  }

  bool FindAll(const Node* before, std::vector<Operand>& operands) {
    operands.clear();
    const Ids& variables = matcher_.patterns()[match_.pattern].variables;
    for (std::size_t i = 0; i < match_.binding.size(); ++i) {
      auto operand = Find(match_.binding[i], arena_[variables[i]].kind, before);
      if (!operand) return false;
      operands.push_back(std::move(*operand));
    }
    return true;
  }

  // A module's body: the kernel runs at the end, and what it returns takes the place of the stock
  // result. Everything that was computed only for that is dead code afterwards.
  bool PlaceLayer(Edit& edit) {
    const Block& body = program_.graphs[frame_.graph].body;
    if (body.outputs.size() != 1) return Refuse("the module has several results");
    const Node* tuple = index_.Definition(body.outputs[0]);
    const bool is_tuple = tuple && tuple->op == "prim::TupleConstruct";
    edit.before = is_tuple ? tuple : nullptr;
    edit.result_only = true;
    for (const int v : is_tuple ? tuple->inputs : body.outputs) {
      const auto it = frame_.values.find(v);
      if (it == frame_.values.end() || it->second != match_.outputs[0]) continue;
      // Results that share memory would no longer do so.
      if (!edit.replaced.empty()) return Refuse("the module returns the result twice");
      edit.replaced = {v};
    }
    if (edit.replaced.empty()) return Refuse("the result is not a value of this module's code");
    if (!FindAll(edit.before, edit.operands)) {
      return Refuse("an operand is not available in this module's code");
    }
    return true;
  }

  bool PlaceFunction(Edit& edit) {
    const Block* block = nullptr;
    int first = INT32_MAX, last = INT32_MAX;
    for (const Id id : match_.outputs) {
      int found = -1;
      for (const auto& [computed, value] : frame_.computed) {
        if (computed == id && index_.Definition(value) && !index_.Uses(value).empty()) {
          found = value;
          break;
        }
      }
      if (found < 0) return Refuse("a result is not a value of this module's code");
      edit.replaced.push_back(found);
      const Node* node = index_.Definition(found);
      if (block && block != index_.BlockOf(node)) return Refuse("results in two branches");
      block = index_.BlockOf(node);
      first = std::min(first, index_.Order(node));
      for (const Use& use : index_.Uses(found)) last = std::min(last, index_.Order(use.node));
    }
    // Between the first result and the first use of one, wherever all operands are there.
    for (const Node& node : block->nodes) {
      const int order = index_.Order(&node);
      if (order < first) continue;
      if (order > last) break;
      if (!FindAll(&node, edit.operands)) continue;
      edit.before = &node;
      if (matcher_.patterns()[match_.pattern].reference.across_calls) FindRepeated(edit);
      return true;
    }
    return Refuse("an operand is made after the first use of a result");
  }

  // A module that is called may hand an output on: that too comes from the kernel, so that nothing
  // needs the call.
  void FindRepeated(Edit& edit) const {
    for (const auto& [id, value] : frame_.computed) {
      const auto it = std::find(match_.outputs.begin(), match_.outputs.end(), id);
      const Node* made = index_.Definition(value);
      if (it == match_.outputs.end() || !made || made->op != "prim::TupleUnpack") continue;
      const Node* call = index_.Definition(made->inputs[0]);
      const int output = static_cast<int>(it - match_.outputs.begin());
      if (!call || call->op != "prim::CallMethod" || value == edit.replaced[output]) continue;
      if (index_.BlockOf(made) != index_.BlockOf(edit.before) ||
          index_.Order(made) < index_.Order(edit.before)) {
        continue;
      }
      edit.repeated.emplace_back(value, output);
    }
  }

  Matcher& matcher_;
  const Program& program_;
  const Arena& arena_;
  const Match& match_;
  const Frame& frame_;
  const GraphIndex& index_;
  Refusal refusal_;
};

}  // namespace

std::variant<Edit, Refusal> PlanEdit(Matcher& matcher, const Program& program,
                                     const Execution& execution, const Match& match) {
  return Planner(matcher, program, execution, match).Plan();
}

}  // namespace kernelmap::expr
