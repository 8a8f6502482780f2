// Distances between outputs of models.
#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <vector>

#include "rewriter/verify.h"

namespace kernelmap {

/// The tensors of a value, through tuples, lists and dicts (in their order); numbers and booleans
/// as tensors of one element. None, strings and objects are left out. Copies: what runs later
/// cannot change them.
std::vector<at::Tensor> FlattenTensors(const c10::IValue& value);

/// How far tensors are from `truth`, all taken together.
struct Distance {
  double largest = 0, rms = 0;  // infinite where shapes differ, or one is not finite
  double unit = 0;    // the last place, in the dtype of `a`, of the largest number of `truth`
  int64_t count = 0;  // numbers
};
Distance DistanceFrom(const std::vector<at::Tensor>& truth, const std::vector<at::Tensor>& a);

/// Adds what `a` against `b` shows to `difference`.
void AddDifference(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b,
                   Difference* difference);

}  // namespace kernelmap
