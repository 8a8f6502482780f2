// TorchScript source to graphs: references and the code that calls kernels.
#pragma once

#include <torch/script.h>

#include <string>

namespace kernelmap::torchscript {

/// Functions compiled from one source; `forward` is the one to run.
struct CompiledSource {
  std::shared_ptr<torch::jit::CompilationUnit> unit;
  torch::jit::Function* forward = nullptr;
};

/// Compiles helper functions and `def forward(...)`. Names: `torch`, its dtypes, `torch.ops.NS.OP`.
/// Throws c10::Error with the compiler's message when the source is wrong.
CompiledSource CompileSource(const std::string& source);

}  // namespace kernelmap::torchscript
