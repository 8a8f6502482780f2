// Distances between outputs of models.
#pragma once

#include <ATen/core/ivalue.h>

#include <vector>

#include "rewriter/verify.h"

namespace kernelmap {

/// The tensors of a value, through tuples, lists and dicts (in their order); numbers and booleans
/// as tensors of one element. None, strings and objects are left out. Copies: what runs later
/// cannot change them.
std::vector<at::Tensor> FlattenTensors(const c10::IValue& value);

/// Adds what `a` against `b` shows to `difference`.
void AddDifference(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b,
                   Difference* difference);

}  // namespace kernelmap
