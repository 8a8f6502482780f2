// Loading and running one archive for verify.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/api/module.h>

#include <string>
#include <vector>

#include "rewriter/apply.h"
#include "rewriter/modules/load_options.h"

namespace kernelmap::verify {

using Inputs = std::vector<c10::IValue>;
using Tensors = std::vector<at::Tensor>;

// Carries an ApplyError out of the steps of verify; stops in Verify.
struct Failure {
  ApplyError error;
};

struct Source {
  std::string path;
  at::Device device;
  LoadOptions kernels;
};

/// Throws Failure.
torch::jit::Module Load(const Source& archive, torch::jit::ExtraFilesMap* extra = nullptr);

/// Inputs are copied, since a model may change them; what is random starts alike. Throws Failure.
Tensors Run(const Source& archive, torch::jit::Module& model, const Inputs& inputs);

}  // namespace kernelmap::verify
