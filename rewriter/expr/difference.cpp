#include "rewriter/expr/difference.h"

#include <algorithm>

namespace kernelmap::expr {
namespace {

constexpr int kMaxSteps = 20'000;

struct Comparison {
  int matched = 0;
  Id reference = -1;  // where they part; -1: nowhere
  Id model = -1;
  Binding binding;
};

class Comparer {
 public:
  Comparer(const Arena& arena, const Pattern& pattern) : arena_(arena), pattern_(pattern) {}

  Comparison Compare(Id p, Id t, const Binding& binding) {
    Comparison result{.binding = binding};
    if (++steps_ > kMaxSteps) return Part(result, p, t);
    const Expr &r = arena_[p], &m = arena_[t];
    if (r.op == "var") return CompareVariable(p, t, result);
    if (p == t) return Agree(result);
    if (r.op == "const") {
      const auto x = arena_.AsDouble(p), y = arena_.AsDouble(t);
      if (x && y ? *x == *y : !y && m.kind != Kind::kTensor && !arena_.IsConst(t)) {
        return Agree(result);
      }
      return Part(result, p, t);
    }
    if (r.kind != Kind::kTensor && r.op != "list") {
      // Sizes and dtypes are compared by the check; only constants that differ are worth showing.
      return m.kind == Kind::kTensor ? Part(result, p, t) : Agree(result);
    }
    if (r.op == "cast" && m.op != "cast") return CompareCast(p, t, result);
    const bool permutations =
        OneOf(r.op, {"permute", "transpose"}) && OneOf(m.op, {"permute", "transpose"});
    if (permutations && !m.args.empty()) {
      return Follow(result, Compare(r.args[0], m.args[0], binding));
    }
    if (r.op == "slice" && m.op != "slice") return Compare(r.args[0], t, binding);
    if (r.op == "expand" && m.op != "expand") return Compare(r.args[0], t, binding);
    if (r.op != m.op || r.args.size() != m.args.size()) return Part(result, p, t);
    Comparison best = CompareOperands(r.args, m.args, result);
    if (best.reference >= 0 && arena_[best.reference].kind != Kind::kTensor) {
      // A dimension or flag alone says little: show the operation that has it.
      best.reference = p;
      best.model = t;
    }
    if (r.args.size() == 2 && OneOf(r.op, {"add", "mul"})) {
      const Comparison swapped = CompareOperands(r.args, {m.args[1], m.args[0]}, result);
      const bool better = (swapped.reference < 0) != (best.reference < 0)
                              ? swapped.reference < 0
                              : swapped.matched > best.matched;
      if (better) best = swapped;
    }
    return best;
  }

 private:
  static Comparison Agree(Comparison result) {
    ++result.matched;
    return result;
  }
  static Comparison Part(Comparison result, Id p, Id t) {
    result.reference = p;
    result.model = t;
    return result;
  }
  static Comparison Follow(const Comparison& outer, Comparison inner) {
    inner.matched += outer.matched + 1;
    return inner;
  }

  Comparison CompareVariable(Id p, Id t, Comparison result) {
    const auto slot = static_cast<std::size_t>(
        std::find(pattern_.variables.begin(), pattern_.variables.end(), p) -
        pattern_.variables.begin());
    const Expr& r = arena_[p];
    if (slot == pattern_.variables.size()) return Part(result, p, t);
    if (r.kind == Kind::kTensor && arena_[t].kind != Kind::kTensor) return Part(result, p, t);
    if (r.kind == Kind::kTensor && !pattern_.reference.function) {
      // Weights are parameters; what comes in is none.
      if (pattern_.reference.is_input[slot] == (arena_[t].op == "param")) return Part(result, p, t);
    }
    if (r.kind == Kind::kFloat && !arena_.AsDouble(t)) return Part(result, p, t);
    if (result.binding[slot] >= 0 && result.binding[slot] != t) return Part(result, p, t);
    result.binding[slot] = t;
    return Agree(result);
  }

  Comparison CompareCast(Id p, Id t, const Comparison& result) {
    const Expr& r = arena_[p];
    const auto wanted = arena_.AsInt(r.args[1]);
    const bool does_nothing = wanted ? arena_[t].dtype == static_cast<DType>(*wanted) : true;
    if (!does_nothing && arena_[t].dtype >= 0) return Part(result, p, t);
    return Compare(r.args[0], t, result.binding);
  }

  Comparison CompareOperands(const Ids& ps, const Ids& ts, const Comparison& start) {
    Comparison all = Agree(start);
    for (std::size_t i = 0; i < ps.size(); ++i) {
      const Comparison one = Compare(ps[i], ts[i], all.binding);
      all.matched += one.matched;
      all.binding = one.binding;
      if (all.reference < 0 && one.reference >= 0) {
        all.reference = one.reference;
        all.model = one.model;
      }
    }
    return all;
  }

  const Arena& arena_;
  const Pattern& pattern_;
  int steps_ = 0;
};

std::string Text(const Arena& arena, Id reference, Id model) {
  return "reference: " + arena.Print(reference, 2) + "; model: " + arena.Print(model, 2);
}

}  // namespace

Difference ComparePattern(const Arena& arena, const Pattern& pattern, std::size_t output,
                          Id model) {
  Comparer comparer(arena, pattern);
  const Comparison c =
      comparer.Compare(pattern.outputs[output], model, Binding(pattern.variables.size(), -1));
  Difference difference{.matched = c.matched};
  if (c.reference >= 0) {
    difference.text = Text(arena, c.reference, c.model);
    difference.source = arena.Source(c.model);
  }
  return difference;
}

Difference CompareExpressions(const Arena& arena, Id reference, Id model) {
  Difference difference;
  Id shown_reference = reference, shown_model = model;  // the last operations on tensors
  while (reference != model) {
    const Expr &r = arena[reference], &m = arena[model];
    if (r.kind == Kind::kTensor && m.kind == Kind::kTensor) {
      shown_reference = reference;
      shown_model = model;
    }
    if (r.op == m.op && r.args.size() == m.args.size() && !r.args.empty()) {
      std::size_t i = 0;
      while (i < r.args.size() && r.args[i] == m.args[i]) ++i;
      const bool swapped = OneOf(r.op, {"add", "mul"}) && r.args.size() == 2 &&
                           (r.args[0] == m.args[1] || r.args[1] == m.args[0]);
      if (swapped) {
        const std::size_t same = r.args[0] == m.args[1] ? 0 : 1;
        reference = r.args[1 - same];
        model = m.args[same];
      } else if (i < r.args.size()) {
        reference = r.args[i];
        model = m.args[i];
      } else {
        break;  // the same operands, read before and after a write
      }
      ++difference.matched;
      continue;
    }
    break;
  }
  if (reference == model) return difference;
  difference.text = Text(arena, shown_reference, shown_model);
  difference.source = arena.Source(shown_model);
  return difference;
}

}  // namespace kernelmap::expr
