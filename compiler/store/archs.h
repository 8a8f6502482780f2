// The GPU architectures that a build says it is for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/target.h"

namespace kernelmap {

/// Whether a build for `archs` runs on a capability, as the Python library judges: "8.0" on the
/// same major and that minor or a later one, "10.0f" likewise, "9.0a" on itself alone, "12.0+PTX"
/// on anything later too. True where no architecture is in a known form, or none is listed.
bool CudaArchsHold(const std::vector<std::string>& archs, const Capability& capability);

/// The same for ROCm: 9.4 is any of gfx940 to gfx94f, since a target says no more.
bool RocmArchsHold(const std::vector<std::string>& archs, const Capability& capability);

/// Whether a build whose metadata lists `archs` for `backend` runs on a capability; true where
/// either says nothing, or the backend has no capabilities.
bool ArchsHold(const std::string& backend, const std::vector<std::string>& archs,
               const std::optional<Capability>& capability);

}  // namespace kernelmap
