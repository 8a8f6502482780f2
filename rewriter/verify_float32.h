// A 16-bit model, computed in float32.
#pragma once

#include <torch/csrc/jit/api/module.h>

namespace kernelmap {

/// Turns bfloat16 and float16 into float32: in parameters, buffers, other tensor attributes, tensor
/// constants of the graphs, and where a constant says which dtype an operation shall give. What a
/// model decides about dtypes while it runs follows from those. Edits the model in place: it must
/// have been loaded for this, and not have run.
void ConvertToFloat32(torch::jit::Module& model);

/// Whether a parameter, a buffer or a floating input is bfloat16 or float16.
bool Has16BitTensors(const torch::jit::Module& model, const std::vector<c10::IValue>& inputs);

/// The inputs, 16-bit ones in float32.
std::vector<c10::IValue> ToFloat32(const std::vector<c10::IValue>& inputs);

}  // namespace kernelmap
