#include "rewriter/verify_run.h"

#include <ATen/ATen.h>

#include "rewriter/modules/load.h"
#include "rewriter/verify_compare.h"

namespace kernelmap::verify {
namespace {

// What TorchScript says about an error in a model comes after its own stack.
std::string LastLine(const std::exception& e) {
  std::string text = FirstLine(e);
  const std::string all = e.what();
  const auto at = all.rfind("Error: ");
  if (at != std::string::npos) text = all.substr(at, all.find('\n', at) - at);
  return text;
}

}  // namespace

std::string FirstLine(const std::exception& e) {
  const auto* error = dynamic_cast<const c10::Error*>(&e);
  const std::string text = error ? error->what_without_backtrace() : e.what();
  const auto start = text.find_first_not_of(" \n");
  return start == std::string::npos ? "" : text.substr(start, text.find('\n', start) - start);
}

torch::jit::Module Load(const Source& archive, torch::jit::ExtraFilesMap* extra) {
  torch::jit::ExtraFilesMap none;
  try {
    return load(archive.path, archive.device, extra ? *extra : none, archive.kernels);
  } catch (const std::exception& e) {
    throw Failure{{archive.path, FirstLine(e), false}};
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
    throw Failure{{archive.path, "fails on the inputs: " + LastLine(e), false}};
  }
}

}  // namespace kernelmap::verify
