// References as patterns: each reference executed once on variables, in the arena of the model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rewriter/expr/arena.h"
#include "rewriter/expr/graph.h"

namespace kernelmap::expr {

/// A reference compiled by a front end: `graph` of `program` is its forward.
struct CompiledReference {
  std::string layer;          // "RMSNorm"
  std::string name;           // "llama"
  bool function = false;      // matched inside modules
  bool across_calls = false;  // a result may be that of a module that is called
  std::vector<std::string> parameters;
  std::vector<bool> is_input;  // per parameter: an input of the module (layers only)
  const Program* program = nullptr;
  int graph = -1;
};

struct Pattern {
  CompiledReference reference;
  Ids variables;  // one a parameter
  Ids outputs;
  int size = 0;  // grows with the number of operations
};

/// Executes the references on variables.
std::vector<Pattern> MakePatterns(const std::vector<CompiledReference>& references, Arena& arena);

/// The reference's outputs on `args`, in the model's arena.
Ids Instantiate(const Pattern& pattern, const Ids& args, Arena& arena);

/// What variables stand for; -1 where not bound.
using Binding = std::vector<Id>;

}  // namespace kernelmap::expr
