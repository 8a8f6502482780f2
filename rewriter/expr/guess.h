// The untrusted half of matching: search for what a reference's variables may stand for. It is
// tolerant (casts, slices, operand order and constants may differ), so a guess proves nothing; the
// caller accepts one only after the check.
#pragma once

#include <functional>
#include <unordered_set>

#include "rewriter/expr/pattern.h"

namespace kernelmap::expr {

class Guesser {
 public:
  /// Tensor variables bind only to members of `available` and to parameters of modules.
  Guesser(Arena& arena, const Pattern& pattern, const std::unordered_set<Id>& available);

  /// Tries bindings under which output `index` of the pattern may be `target`, until `accept`
  /// takes one. Calls may be nested in `accept`: bindings so far are kept.
  bool Search(std::size_t index, Id target, const std::function<bool()>& accept);
  const Binding& binding() const { return binding_; }

 private:
  using Next = std::function<bool()>;
  bool Match(Id p, Id t, const Next& next);
  bool MatchAll(const Ids& ps, const Ids& ts, std::size_t i, const Next& next);
  bool MatchVariable(Id p, Id t, const Next& next);
  bool MatchPermutation(Id p, Id t, const Next& next);
  bool MatchOperands(Id p, Id t, const Next& next);
  bool SkipOne(Id p, Id t, const Next& next);
  bool HoldsTensor(Id p) const;

  Arena& arena_;
  const Pattern& pattern_;
  const std::unordered_set<Id>& available_;
  Binding binding_;
  int steps_ = 0;
};

}  // namespace kernelmap::expr
