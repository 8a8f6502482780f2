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
    const std::string what = error.what();
    TORCH_CHECK(
        what.find("kernelmap_hub::") == std::string::npos, "cannot load `", path,
        "`: it calls kernels of the Hub, but does not say which; was it saved again without "
        "its extra file kernelmap/adapters.json?");
    TORCH_CHECK(false, "cannot load `", path, "`: ", what);
  }
}

}  // namespace kernelmap
