#include "rewriter/verify_run.h"

#include <ATen/ATen.h>

#include "rewriter/error_text.h"
#include "rewriter/modules/load.h"
#include "rewriter/verify_compare.h"

namespace kernelmap::verify {
torch::jit::Module Load(const Source& archive, torch::jit::ExtraFilesMap* extra) {
  torch::jit::ExtraFilesMap none;
  try {
    return load(archive.path, archive.device, extra ? *extra : none, archive.kernels);
  } catch (const std::exception& e) {
    throw Failure{{archive.path, FirstErrorLine(e), false}};
  }
}

// Inputs are copied, since a model may change them; what is random starts alike.
Tensors Run(const Source& archive, torch::jit::Module& model, const Inputs& inputs) {
  Inputs copies;
  for (const c10::IValue& input : inputs) copies.push_back(input.toTensor().clone());
  at::manual_seed(0);
  try {
    const at::NoGradGuard no_grad;
    return FlattenTensors(model.forward(copies));
  } catch (const std::exception& e) {
    throw Failure{{archive.path, "fails on the inputs: " + LastErrorLine(e), false}};
  }
}

}  // namespace kernelmap::verify
