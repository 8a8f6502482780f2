// What GPU this machine has. Asks the driver; loads nothing else.
#pragma once

#include <optional>
#include <string_view>

#include "compiler/target.h"

namespace kernelmap {

/// The capability of the first device of the kind `cuda` or `rocm`; nothing where there is none.
/// CUDA's driver library is loaded only where its device node is there.
/// Source: CUDA Driver API, cuDeviceGetAttribute; Linux amdkfd, gfx_target_version.
std::optional<Capability> MachineCapability(std::string_view device);

}  // namespace kernelmap
