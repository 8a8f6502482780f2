// Sample inputs for a module whose forward is known only by its calls.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rewriter/expr/execute.h"
#include "rewriter/expr/match.h"

namespace kernelmap {

/// What the calls of a module say of one input. A dimension is a number, or the same as all
/// dimensions of its `key`.
struct InputFacts {
  struct Dimension {
    int64_t size = -1;  // -1: not known
    int key = -1;
  };
  at::ScalarType dtype = at::kFloat;
  int rank = -1;  // -1: not known
  std::vector<Dimension> shape;
};

/// Of all inputs of a frame, `self` left out; or `dtype` where one is no known float.
std::variant<std::vector<InputFacts>, expr::Refusal> FactsOfInputs(const expr::Arena& arena,
                                                                   const expr::Frame& frame);

struct Sample {
  std::vector<at::Tensor> inputs;
  std::string label;  // "float32[2, 5, 16], normal"
};

/// Samples of every shape and size of number that is tried, always the same. `features`: what the
/// last dimension may be where it is not known; the caller takes those that the code takes.
std::vector<Sample> MakeSamples(const std::vector<InputFacts>& inputs, int64_t feature);

}  // namespace kernelmap
