#include "rewriter/modules/load.h"

#include <torch/csrc/jit/serialization/import.h>

namespace kernelmap {

torch::jit::Module load(const std::string& path, std::optional<c10::Device> device) {
  try {
    return torch::jit::load(path, device);
  } catch (const c10::Error& error) {
    TORCH_CHECK(false, "cannot load `", path, "`: ", error.what_without_backtrace());
  }
}

}  // namespace kernelmap
