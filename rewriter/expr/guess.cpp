#include "rewriter/expr/guess.h"

#include <algorithm>

namespace kernelmap::expr {
namespace {

constexpr int kMaxSteps = 50'000;  // of one search; the patterns at hand need some hundred

bool IsPermutation(const std::string& op) { return OneOf(op, {"permute", "transpose", "t"}); }

bool SameOperation(const std::string& p, const std::string& t) {
  return p == t || (IsPermutation(p) && IsPermutation(t));
}

bool IsNumber(Kind kind) {
  return kind == Kind::kInt || kind == Kind::kFloat || kind == Kind::kBool || kind == Kind::kNone ||
         kind == Kind::kString || kind == Kind::kDevice;
}

}  // namespace

Guesser::Guesser(Arena& arena, const Pattern& pattern, const std::unordered_set<Id>& available)
    : arena_(arena),
      pattern_(pattern),
      available_(available),
      binding_(pattern.variables.size(), -1) {}

bool Guesser::Search(std::size_t index, Id target, const std::function<bool()>& accept) {
  return Match(pattern_.outputs[index], target, accept);
}

bool Guesser::MatchAll(const Ids& ps, const Ids& ts, std::size_t i, const Next& next) {
  if (i == ps.size()) return next();
  return Match(ps[i], ts[i], [&, i] { return MatchAll(ps, ts, i + 1, next); });
}

bool Guesser::HoldsTensor(Id p) const {
  const Expr& e = arena_[p];
  if (e.kind == Kind::kTensor) return true;
  return std::any_of(e.args.begin(), e.args.end(), [&](Id a) { return HoldsTensor(a); });
}

bool Guesser::MatchVariable(Id p, Id t, const Next& next) {
  const Expr& target = arena_[t];
  const auto slot =
      static_cast<std::size_t>(std::find(pattern_.variables.begin(), pattern_.variables.end(), p) -
                               pattern_.variables.begin());
  if (slot == pattern_.variables.size()) return false;
  if (binding_[slot] >= 0) return binding_[slot] == t && next();
  switch (arena_[p].kind) {
    case Kind::kTensor: {
      if (target.kind != Kind::kTensor || arena_.IsScalarTensor(t)) return false;
      if (target.op != "param" && !available_.contains(t)) return false;
      // Two variables are two weights.
      const bool taken = std::find(binding_.begin(), binding_.end(), t) != binding_.end();
      if (target.op == "param" && taken) return false;
      break;
    }
    case Kind::kInt:
      if (target.kind != Kind::kInt) return false;
      break;
    default:  // a constant, or a number that the model computes
      if (!arena_.AsDouble(t) && target.kind != Kind::kFloat) return false;
  }
  binding_[slot] = t;
  if (next()) return true;
  binding_[slot] = -1;
  return false;
}

// Composed permutations hide operands: the pattern's operand is the target, permuted back.
bool Guesser::MatchPermutation(Id p, Id t, const Next& next) {
  const Expr& pattern = arena_[p];
  if (pattern.op == "transpose" && arena_[t].op == "permute") {
    const Id back = arena_.Op("transpose", {t, pattern.args[1], pattern.args[2]});
    if (Match(pattern.args[0], back, next)) return true;
  } else if (pattern.op == "permute" && arena_[pattern.args[1]].op == "list") {
    const Ids order = arena_[pattern.args[1]].args;
    Ids inverse(order.size(), -1);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto d = arena_.AsInt(order[i]);
      if (!d || *d < 0 || *d >= static_cast<std::int64_t>(order.size())) return false;
      inverse[*d] = arena_.Int(static_cast<std::int64_t>(i));
    }
    if (std::find(inverse.begin(), inverse.end(), -1) != inverse.end()) return false;
    // Of what is no permutation any more: two that undid each other.
    const int rank = arena_[t].rank;
    if (rank >= 0 && rank != static_cast<int>(order.size())) return false;
    const Id back = arena_.Op("permute", {t, arena_.List(inverse)});
    if (Match(pattern.args[0], back, next)) return true;
  }
  if (!IsPermutation(arena_[t].op)) return false;
  return !arena_[t].args.empty() && Match(arena_[p].args[0], arena_[t].args[0], next);
}

bool Guesser::MatchOperands(Id p, Id t, const Next& next) {
  const Ids ps = arena_[p].args;
  Ids ts = arena_[t].args;
  if (ps.size() != ts.size()) return false;
  if (MatchAll(ps, ts, 0, next)) return true;
  if (ps.size() == 2 && OneOf(arena_[p].op, {"add", "mul"})) {
    std::swap(ts[0], ts[1]);
    return MatchAll(ps, ts, 0, next);
  }
  return false;
}

// One side holds an operation that may do nothing on the other.
bool Guesser::SkipOne(Id p, Id t, const Next& next) {
  const Expr &pattern = arena_[p], &target = arena_[t];
  if (pattern.op == "cast" && target.op != "cast" && Match(pattern.args[0], t, next)) return true;
  if (target.op == "cast" && pattern.op != "cast" && Match(p, target.args[0], next)) return true;
  if (OneOf(pattern.op, {"slice", "expand"}) && target.op != pattern.op &&
      Match(pattern.args[0], t, next)) {
    return true;
  }
  if (pattern.op == "unsqueeze" && target.op != "unsqueeze") {
    // A weight of size 1 there, squeezed where the function was called.
    const Id squeezed = arena_.Op("squeeze", {t, pattern.args[1]});
    if (Match(pattern.args[0], squeezed, next)) return true;
  }
  if (pattern.op == "div" && target.op == "mul" && pattern.args.size() == 2 &&
      target.args.size() == 2) {
    // Division by a power of two, which is multiplication by its inverse in the model.
    for (int i = 0; i < 2; ++i) {
      const Expr& factor = arena_[target.args[i]];
      if (factor.op != "const" || factor.kind != Kind::kFloat || factor.constant.real == 0) continue;
      const Id inverse = arena_.Float(1.0 / factor.constant.real), x = target.args[1 - i];
      const Id numerator = pattern.args[0], divisor = pattern.args[1];
      if (Match(numerator, x, [&] { return Match(divisor, inverse, next); })) return true;
    }
  }
  if (pattern.op == "mul" && pattern.args.size() == 2) {
    // A factor of 1 that the model leaves out; the check binds it to 1.
    for (int i = 0; i < 2; ++i) {
      const Expr& factor = arena_[pattern.args[i]];
      if (factor.op == "var" && factor.kind == Kind::kFloat &&
          Match(pattern.args[1 - i], t, next)) {
        return true;
      }
    }
  }
  return false;
}

bool Guesser::Match(Id p, Id t, const Next& next) {
  if (++steps_ > kMaxSteps) return false;
  const Expr& pattern = arena_[p];
  if (pattern.op == "var") return MatchVariable(p, t, next);
  if (p == t) return next();
  const Expr& target = arena_[t];
  if (pattern.op == "const") {
    return (target.kind != Kind::kTensor || arena_.IsScalarTensor(t)) && next();
  }
  if (IsNumber(pattern.kind)) return target.kind != Kind::kTensor && next();
  if (pattern.op == "list") {
    if (target.op == "list" && target.args.size() == pattern.args.size()) {
      const Ids ps = pattern.args, ts = target.args;
      return MatchAll(ps, ts, 0, next);
    }
    return !HoldsTensor(p) && target.kind != Kind::kTensor && next();
  }
  if (SameOperation(pattern.op, target.op) || pattern.op == "permute") {
    const bool found =
        IsPermutation(pattern.op) ? MatchPermutation(p, t, next) : MatchOperands(p, t, next);
    if (found) return true;
  }
  return SkipOne(p, t, next);
}

}  // namespace kernelmap::expr
