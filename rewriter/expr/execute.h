// Symbolic execution of a program's forward, one frame a call, into one arena of expressions. Calls
// are executed, not inlined, so that each frame still says which of its graph's values computes
// which expression: that is where a rewrite happens.
//
// What cannot be followed (a branch on data, an unknown operation) becomes opaque: a value equal
// only to itself. What it may write to is counted as written.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rewriter/expr/arena.h"
#include "rewriter/expr/graph.h"

namespace kernelmap::expr {

struct Frame {
  int parent = -1;  // frame of the caller
  int object = -1;  // the module whose method this is; -1 for a plain function
  int graph = -1;
  Ids inputs;
  Id result = -1;
  std::unordered_map<int, Id> values;        // value of the graph -> expression
  std::vector<std::pair<Id, int>> computed;  // in program order
  bool pure = true;                          // running it has no effect beside its result
  std::unordered_map<const Node*, int> callees;
  std::unordered_set<const Node*> local_writes;  // in-place, on a value that nothing else sees
  bool has_branch = false;                       // control flow that was not followed
  std::vector<const Block*> never_run;           // the other branch where the condition is known
};

struct Execution {
  Arena arena;
  std::vector<Frame> frames;
  bool autocast = false;
  bool writes_constant = false;  // a constant of the code is changed in place: no constant is one
  std::vector<const Node*> unseen_calls;  // branches, loops and calls that were not followed
  bool too_large = false;  // a limit was met: what was executed so far is not the whole program
};

/// Runs `forward` of the root. `input_dtypes[i]` is the dtype of its i-th tensor input, where
/// known. `trains`: what comes out holds for train() and eval() alike, since the attribute
/// `training` is not followed, and for gradients, since detach is an operation.
Execution Execute(const Program& program, const std::vector<DType>& input_dtypes,
                  bool trains = false);

/// Graphs that may run in a way that was not executed: called in a branch or loop that was not
/// followed, through an interface, or from a method of the root beside forward.
std::unordered_set<int> UnseenGraphs(const Program& program, const Execution& execution);

/// Runs a function on `args` in an arena that may hold other expressions already; nothing but
/// expressions is kept.
Id ExecuteFunction(const Program& program, int graph, const Ids& args, Arena& arena);

}  // namespace kernelmap::expr
