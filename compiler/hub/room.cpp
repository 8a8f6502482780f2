#include "compiler/hub/room.h"

#include <set>
#include <string>

namespace kernelmap {

Room RoomFor(const CacheWriter& writer, const std::vector<HubFile>& files,
             std::optional<uint64_t> free) {
  Room room;
  std::set<std::string> met;
  std::vector<const HubFile*> there;
  uint64_t may_need = 0;
  const auto needs = [&](const HubFile& file) { return file.size - writer.PartialBytes(file); };
  for (const HubFile& file : files) {
    if (!met.insert(file.digest).second) continue;
    if (writer.MayHaveBlob(file)) {
      there.push_back(&file);
      may_need += needs(file);
      continue;
    }
    room.bytes += needs(file);
    ++room.files;
  }
  if (free && room.bytes + may_need > *free) {
    // It matters which of them are damaged and come again.
    for (const HubFile* file : there) {
      if (writer.HasBlob(*file)) continue;
      room.bytes += needs(*file);
      ++room.files;
    }
  }
  room.enough = !free || room.bytes <= *free;
  return room;
}

}  // namespace kernelmap
