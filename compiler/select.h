// Steps 1 to 3 of choosing a kernel: which entry, and which of its modes. Whether the kernel there
// can be used is another matter (candidate.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/config.h"

namespace kernelmap {

/// An entry for the target's device: the config's, or an inherited one.
struct DeviceChoice {
  Interval interval;
  const DeviceEntry* entry = nullptr;
  bool from_config = false;
};

/// The entries of `own` (may be null) for `device`, and those of `inherited` that they do not
/// replace. Of the inherited mappings a later one lies over the earlier.
std::vector<DeviceChoice> EntriesForDevice(const Mapping* own,
                                           const std::vector<const Mapping*>& inherited,
                                           const std::string& device);

/// The smallest interval that holds the capability; of equally wide ones that with the higher lower
/// bound. Null when none does. Without a capability only entries without bounds hold.
const DeviceChoice* SmallestInterval(const std::vector<DeviceChoice>& entries,
                                     std::optional<Capability> capability);

/// The value of the first mode that fits a target's; null when none does.
const ModeValue* FirstFittingMode(const DeviceEntry& entry, const std::string& target_mode);

}  // namespace kernelmap
