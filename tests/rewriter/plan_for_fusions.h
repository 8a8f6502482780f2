// Fusions whose kernels are the references' own code, one after the other: whatever the rewrite
// changes, results must be bit-identical.
#pragma once

#include "compiler/plan.h"

namespace kernelmap {

/// Adds norm + MLP and q + k + v, for the names that the models in tests/models have.
void AddFusions(Plan& plan);

}  // namespace kernelmap
