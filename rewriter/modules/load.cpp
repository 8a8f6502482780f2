#include "rewriter/modules/load.h"

#include <torch/csrc/jit/frontend/error_report.h>
#include <torch/csrc/jit/serialization/import.h>

#ifdef KM_HUB_KERNELS
#include "rewriter/modules/kernels.h"
#endif

namespace kernelmap {
torch::jit::Module load(const std::string& path, std::optional<c10::Device> device,
                        const LoadOptions& options) {
  torch::jit::ExtraFilesMap none;
  return load(path, device, none, options);
}

torch::jit::Module load(const std::string& path, std::optional<c10::Device> device,
                        torch::jit::ExtraFilesMap& extra_files,
                        [[maybe_unused]] const LoadOptions& options) {
  try {
#ifdef KM_HUB_KERNELS
    for (const std::string& warning : LoadKernels(path, options)) {
      TORCH_WARN("kernelmap: ", warning);
    }
#endif
    return torch::jit::load(path, device, extra_files);
  } catch (const c10::Error& error) {
    TORCH_CHECK(false, "cannot load `", path, "`: ", error.what_without_backtrace());
  } catch (const torch::jit::ErrorReport& error) {
    TORCH_CHECK(false, "cannot load `", path, "`: ", error.what());
  }
}

}  // namespace kernelmap
