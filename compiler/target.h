// What a plan is for: a device, its capability, a mode and the torch that will run the model.
#pragma once

#include <optional>
#include <string>

namespace kernelmap {

struct Capability {
  int major = 0;
  int minor = 0;
  friend auto operator<=>(const Capability&, const Capability&) = default;
};

struct Target {
  std::string device = "cpu";            // cpu cuda rocm mps xpu npu neuron tpu
  std::optional<Capability> capability;  // CUDA and ROCm only
  std::string mode = "inference";        // inference | training, either with "|torch_compile"
  std::string torch;                     // "2.13"
  std::optional<std::string> cuda;       // "13.0"; likewise rocm, xpu when the device is theirs
};

}  // namespace kernelmap
