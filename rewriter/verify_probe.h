// Watching what single modules of a TorchScript model give, while the model runs.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <functional>
#include <string>
#include <vector>

namespace kernelmap {

/// Called for each call of a watched module, with its index in `paths` and what it returned.
using ProbeCallback = std::function<void(size_t path, const c10::IValue& output)>;

/// Makes the methods of the modules at `paths` (as named_modules() gives them) report to the
/// callback of the ProbeScope that is alive when they run. Edits graphs: use a model that was just
/// loaded, has not run, and is for nothing else. Paths that lead to no module are passed over.
void InsertProbes(const torch::jit::Module& model, const std::vector<std::string>& paths);

/// One at a time. `model`, `paths`: those of InsertProbes.
class ProbeScope {
 public:
  ProbeScope(const torch::jit::Module& model, const std::vector<std::string>& paths,
             ProbeCallback callback);
  ~ProbeScope();
  ProbeScope(const ProbeScope&) = delete;
  ProbeScope& operator=(const ProbeScope&) = delete;
};

}  // namespace kernelmap
