// Loading a rewritten archive in C++.
//
// A program that links libkernelmap_runtime.so has the built-in ops (kernelmap::rms_norm and the
// others) registered, and needs nothing else:
//
//   #include "rewriter/modules/load.h"
//   torch::jit::Module model = kernelmap::load("model.kernelmap.pt");
//   torch::NoGradGuard no_grad;
//   at::Tensor out = model.forward({ids}).toTensor();
//
// Python needs the library too: torch.ops.load_library(".../libkernelmap_runtime.so"), then
// torch.jit.load as ever.
#pragma once

#include <c10/core/Device.h>
#include <torch/csrc/jit/api/module.h>

#include <optional>
#include <string>

namespace kernelmap {

/// Loads a TorchScript archive, rewritten or not, in the mode it was saved in: call eval() as for
/// any other. `device`: where parameters go; nothing: where they were saved. Throws c10::Error when
/// the file cannot be read, is no archive, or calls an op that is not registered; the message names
/// the file. Loading an archive runs what its classes do on loading: load only archives you trust.
torch::jit::Module load(const std::string& path, std::optional<c10::Device> device = std::nullopt);

/// The same, and fills in the extra files that `extra_files` has as keys: a rewritten archive
/// carries kernelmap/plan.json and kernelmap/report.json.
torch::jit::Module load(const std::string& path, std::optional<c10::Device> device,
                        torch::jit::ExtraFilesMap& extra_files);

}  // namespace kernelmap
