// What trials for training look at beside results: both modes, other parameters, gradients.
#pragma once

#include "rewriter/numeric_run.h"

namespace kernelmap {

/// Sets the attribute `training` of the module and of all in it.
void SetTraining(const ModuleObject& object, bool training);

/// Other numbers in its floating tensors, near what they were and always the same, since training
/// changes them; they want gradients then.
void PrepareForGradients(const ModuleObject& object);

/// What has a gradient: the inputs, and the module's floating tensors.
Tensors Differentiated(const Tensors& inputs, const ModuleObject& object);

/// Gradients of a weighted sum of `result`, always weighted alike; zeros where there is none.
Tensors GradientsOf(const at::Tensor& result, const Tensors& of);

}  // namespace kernelmap
