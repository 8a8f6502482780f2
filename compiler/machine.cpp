#include "compiler/machine.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace kernelmap {
namespace {

namespace fs = std::filesystem;

std::optional<Capability> CudaCapability() {
  std::error_code ignored;
  if (!fs::exists("/dev/nvidiactl", ignored)) return std::nullopt;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!driver) return std::nullopt;
  using Init = int (*)(unsigned);
  using GetDevice = int (*)(int*, int);
  using GetAttribute = int (*)(int*, int, int);
  const auto init = reinterpret_cast<Init>(dlsym(driver, "cuInit"));
  const auto get_device = reinterpret_cast<GetDevice>(dlsym(driver, "cuDeviceGet"));
  const auto get_attribute = reinterpret_cast<GetAttribute>(dlsym(driver, "cuDeviceGetAttribute"));
  constexpr int kMajor = 75, kMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
  int device = 0;
  Capability capability;
  if (!init || !get_device || !get_attribute || init(0) != 0 || get_device(&device, 0) != 0 ||
      get_attribute(&capability.major, kMajor, device) != 0 ||
      get_attribute(&capability.minor, kMinor, device) != 0) {
    return std::nullopt;
  }
  return capability;
}

// "gfx_target_version 90402" is gfx942, which torch calls 9.4; a CPU has 0.
std::optional<Capability> RocmCapability() {
  std::error_code ignored;
  std::vector<fs::path> nodes;
  for (const auto& node : fs::directory_iterator("/sys/class/kfd/kfd/topology/nodes", ignored)) {
    nodes.push_back(node.path());
  }
  std::sort(nodes.begin(), nodes.end());
  for (const fs::path& node : nodes) {
    std::ifstream properties(node / "properties");
    std::string key;
    long value = 0;
    while (properties >> key >> value) {
      if (key != "gfx_target_version" || value <= 0) continue;
      return Capability{static_cast<int>(value / 10000), static_cast<int>(value / 100 % 100)};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Capability> MachineCapability(std::string_view device) {
  if (device == "cuda") return CudaCapability();
  if (device == "rocm") return RocmCapability();
  return std::nullopt;
}

}  // namespace kernelmap
