// TorchScript source to graphs: references, the code that calls kernels, and layers of the Hub.
// Part of the runtime library, which compiles the last when an archive is loaded.
#pragma once

#include <torch/script.h>

#include <map>
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

/// What `ops` stands for in a kernel's own code: for each of its operations ("relu") the registered
/// one to call ("kernelmap_forward::…").
using KernelOps = std::map<std::string, std::string>;

/// Compiles a layer of a kernel, in which `ops` stands for its operations; `torch.ops.LIBRARY` does
/// too. Throws as CompileSource.
CompiledSource CompileKernelSource(const std::string& source, const std::string& library,
                                   const KernelOps& ops);

/// What the compiler says in an exception of the above: its first line, without the source.
std::string CompilerMessage(const std::exception& e);

/// Why a layer of a kernel does not compile, whatever its operations are; "" when it may. Loads and
/// runs nothing: an operation is taken to exist, with results of types that fit.
std::string KernelSourceProblem(const std::string& source);

}  // namespace kernelmap::torchscript
