// Zip files made by the test, right or wrong in whichever field it wants.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kernelmap::testing {

struct MadeEntry {
  std::string name;
  std::string data;
  bool deflate = false;
  std::optional<uint32_t> size, compressed_size, crc, header_offset;  // lies
  std::optional<std::string> local_name;
  std::string extra;  // of the directory
  uint16_t flags = 0;
  std::optional<uint16_t> method;
};

/// A zip without zip64.
std::string MakeZip(const std::vector<MadeEntry>& entries);

/// The smallest archive that is TorchScript: one module of class M.
std::vector<MadeEntry> MinimalArchive(std::string pickle = "", std::string code = "");

/// A pickle of one module of class __torch__.M whose attributes are `attributes`, which is pickle
/// code for keys and values.
std::string ModulePickle(const std::string& attributes);

/// Pickle code for a string.
std::string PickleText(const std::string& text);

/// `number` as bytes, little-endian.
std::string Bytes16(uint16_t number);
std::string Bytes32(uint32_t number);
std::string Bytes64(uint64_t number);

}  // namespace kernelmap::testing
