// Loading a rewritten archive in C++.
//
// A program that links libkernelmap_runtime.so has the built-in ops (kernelmap::rms_norm and the
// others) registered:
//
//   #include "rewriter/modules/load.h"
//   torch::jit::Module model = kernelmap::load("model.kernelmap.pt");
//   torch::NoGradGuard no_grad;
//   at::Tensor out = model.forward({ids}).toTensor();
//
// Where the archive calls kernels of the Hub, load() finds them in the cache of this machine by
// repository and commit, checks trust and digests, and loads their op libraries; which build of the
// commit it takes is decided here. In Python, kernelmap.load does the same. An archive with
// built-in kernels alone needs no more than the library: torch.ops.load_library, then
// torch.jit.load.
#pragma once

#include <c10/core/Device.h>
#include <torch/csrc/jit/api/module.h>

#include <optional>
#include <string>

#include "rewriter/modules/load_options.h"

namespace kernelmap {

/// Loads a TorchScript archive, rewritten or not, in the mode it was saved in: call eval() as for
/// any other. Throws c10::Error when the file cannot be read, is no archive, calls an op that is
/// not registered, or wants a kernel that cannot be had; the message names the file. Loading an
/// archive runs what its classes do on loading: load only archives you trust. Any number of
/// archives and versions of a kernel may be loaded, from any thread. Two archives that call the
/// same op of one kernel share it: once it runs the kernel, it does for both. `device`: where
/// parameters go; nothing: where they were saved.
torch::jit::Module load(const std::string& path, std::optional<c10::Device> device = std::nullopt,
                        const LoadOptions& options = {});

/// The same; `extra_files`: its keys are names of extra files to read, as for torch::jit::load.
/// kernelmap/plan.json and kernelmap/report.json are there after a rewrite.
torch::jit::Module load(const std::string& path, std::optional<c10::Device> device,
                        torch::jit::ExtraFilesMap& extra_files, const LoadOptions& options = {});

}  // namespace kernelmap
