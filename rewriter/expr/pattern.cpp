#include "rewriter/expr/pattern.h"

#include <unordered_set>

#include "rewriter/expr/execute.h"

namespace kernelmap::expr {
namespace {

// Casts break ties alone: which of them are there depends on the model's dtypes.
int CountOperations(const Arena& arena, const Ids& outputs) {
  constexpr int kOperation = 1000;
  int size = 0;
  std::unordered_set<Id> seen;
  Ids stack = outputs;
  while (!stack.empty()) {
    const Id id = stack.back();
    stack.pop_back();
    if (arena.IsConst(id) || !seen.insert(id).second) continue;
    size += arena[id].op == "cast" || arena[id].op == "dtype" ? 1 : kOperation;
    for (const Id a : arena[id].args) stack.push_back(a);
  }
  return size;
}

}  // namespace

Ids Instantiate(const Pattern& pattern, const Ids& args, Arena& arena) {
  const Id id = ExecuteFunction(*pattern.reference.program, pattern.reference.graph, args, arena);
  return arena[id].op == "tuple" ? arena[id].args : Ids{id};
}

std::vector<Pattern> MakePatterns(const std::vector<CompiledReference>& references, Arena& arena) {
  std::vector<Pattern> patterns;
  for (const CompiledReference& reference : references) {
    Pattern pattern{.reference = reference};
    const Graph& graph = reference.program->graphs[reference.graph];
    for (std::size_t i = 0; i < reference.parameters.size(); ++i) {
      pattern.variables.push_back(
          arena.Var(reference.parameters[i], graph.kinds[graph.body.inputs[i]]));
    }
    pattern.outputs = Instantiate(pattern, pattern.variables, arena);
    pattern.size = CountOperations(arena, pattern.outputs);
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

}  // namespace kernelmap::expr
