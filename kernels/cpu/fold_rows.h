// How a tensor's rows lie in memory (kernels/cpu/rows.h), from its sizes and strides.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <span>

#include "kernels/cpu/rows.h"

namespace kernelmap {

/// `operands` have one shape and at least one dimension; one that cannot be walked as it lies is
/// replaced by a contiguous copy. At most kMaxRowOperands.
Rows FoldRows(std::span<at::Tensor> operands);

}  // namespace kernelmap
