// Why a reference is not what a module computes: the first place where the two part, for people.
#pragma once

#include <string>

#include "rewriter/expr/pattern.h"

namespace kernelmap::expr {

struct Difference {
  int matched = 0;     // operations that agree: the reference that comes closest has the most
  std::string text;    // "reference: rsqrt(…); model: clamp(…)"; empty when none was found
  std::string source;  // of the model's side: "modeling_llama.py:63"
};

/// Compares a pattern output with a model expression, operation by operation.
Difference ComparePattern(const Arena& arena, const Pattern& pattern, std::size_t output, Id model);

/// Compares two expressions of the model's arena: a reference on bound operands, and the model.
Difference CompareExpressions(const Arena& arena, Id reference, Id model);

}  // namespace kernelmap::expr
