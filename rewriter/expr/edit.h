// A match as an edit of one graph: where the kernel's code goes, what it reads and whose uses it
// takes over. Decided without changing anything.
#pragma once

#include <utility>
#include <variant>

#include "rewriter/expr/match.h"

namespace kernelmap::expr {

/// One argument of the kernel's code.
struct Operand {
  enum class From { kValue, kInt, kFloat, kAttribute } from = From::kValue;
  int value = -1;                 // kValue: a value of the graph
  std::int64_t integer = 0;       // kInt
  double real = 0;                // kFloat
  std::vector<std::string> path;  // kAttribute: from the module itself, "gate_proj", "weight"
  friend bool operator==(const Operand&, const Operand&) = default;
};

struct Edit {
  int graph = -1;
  int pattern = -1;
  const Node* before = nullptr;  // insert right before it; nullptr: at the end
  std::vector<Operand> operands;
  std::vector<int> replaced;  // values, one an output of the kernel
  /// Further values that are an output of the kernel, and which: results of calls that then go.
  std::vector<std::pair<int, int>> repeated;
  bool result_only = false;       // replace only what the graph returns, not other uses
  bool needs_contiguous = false;  // something after it views the result's memory

  /// Whether two calls of one graph ask for the same change; a copy hurts neither.
  bool SameAs(const Edit& other) const {
    return graph == other.graph && pattern == other.pattern && before == other.before &&
           operands == other.operands && replaced == other.replaced && repeated == other.repeated &&
           result_only == other.result_only;
  }
};

/// The edit for a match that nothing forbids, or why there is none.
std::variant<Edit, Refusal> PlanEdit(Matcher& matcher, const Program& program,
                                     const Execution& execution, const Match& match);

}  // namespace kernelmap::expr
