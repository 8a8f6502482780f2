// Guess, then check: where a model's code is proved to compute what a reference computes.
//
// Proved: the reference, executed on the bound operands in the same arena, gives the very same
// expressions as the model. Everything else here only searches, or says why a proof failed.
#pragma once

#include <map>
#include <optional>
#include <unordered_set>
#include <vector>

#include "rewriter/expr/difference.h"
#include "rewriter/expr/execute.h"
#include "rewriter/expr/graph_index.h"
#include "rewriter/expr/pattern.h"

namespace kernelmap::expr {

struct Match {
  int pattern = -1;
  int frame = -1;
  Binding binding;  // one a parameter of the reference
  Ids outputs;      // expressions that the reference computes
};

/// Why no reference of a layer was found in a module, or why a match cannot be used.
struct Refusal {
  std::string code;  // a word of compiler/reasons.def
  std::string difference;
  std::string source;
  int matched = -1;
};

struct MatchOptions {
  bool check = true;  // false only in tests: shows that the check is what keeps mutants out
};

class Matcher {
 public:
  Matcher(const Program& program, Execution& execution, std::vector<Pattern> patterns,
          MatchOptions options = {});

  const std::vector<Pattern>& patterns() const { return patterns_; }
  const GraphIndex& Index(int graph);

  /// The first of `patterns` (layers) that a module's call computes. Otherwise `refusal` says what
  /// came closest.
  std::optional<Match> MatchLayer(int frame, const std::vector<int>& patterns, Refusal* refusal);

  /// Every place in a module's own code that computes one of `patterns` (functions).
  std::vector<Match> MatchFunctions(int frame, const std::vector<int>& patterns);

  /// Where no place computes one of `patterns`: how the place that comes closest differs.
  Refusal Nearest(int frame, const std::vector<int>& patterns);

  /// What forbids replacing a match: memory that is written, values that others use.
  std::optional<Refusal> Forbids(const Match& match);

 private:
  bool Check(int pattern, const Ids& outputs, const Binding& guessed, Match* match,
             Refusal* refusal);
  bool IsOwnParameter(int frame, Id id) const;
  Ids Interior(const Match& match) const;
  bool IsCastOfOperand(const Match& match, Id id) const;
  bool Escapes(const Match& match, const std::unordered_set<Id>& interior, Refusal* refusal);
  bool IsDead(const Frame& frame, const GraphIndex& index, const Node* node) const;
  bool IsInsideBranch(const Frame& frame, const GraphIndex& index, const Use& use,
                      const std::unordered_set<Id>& interior) const;

  const Program& program_;
  Execution& execution_;
  Arena& arena_;
  std::vector<Pattern> patterns_;
  MatchOptions options_;
  std::map<int, GraphIndex> indices_;
};

/// The attributes that lead from object `from` to object `to`; nothing when there are none.
std::optional<std::vector<std::string>> AttributePath(const Program& program, int from, int to);

}  // namespace kernelmap::expr
