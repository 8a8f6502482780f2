// Whether a cache has room for what is to be downloaded.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/hub/cache_writer.h"

namespace kernelmap {

struct Room {
  uint64_t bytes = 0;  // that are to come
  uint64_t files = 0;
  bool enough = true;  // there are as many free
};

/// What the blobs of `files` still need: equal files once, nothing for a blob that is there, and of
/// one that is half there the rest. Blobs of the right size count as there, and are read only where
/// `free`, which may be unknown, would not do for them too.
Room RoomFor(const CacheWriter& writer, const std::vector<HubFile>& files,
             std::optional<uint64_t> free);

}  // namespace kernelmap
