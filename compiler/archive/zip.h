// The directory of a zip file, and single entries of it. Written for archives that torch writes and
// for hostile ones: every size and offset is checked against the file before it is used, and
// whatever could mean one thing to us and another to torch's own reader is an error.
//
// Not checked: bytes that no entry covers, timestamps, attributes, and the CRC of entries that are
// not read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/archive/error.h"
#include "compiler/archive/file.h"

namespace kernelmap {

/// `text` with A to Z in lower case: torch's reader does not tell them from a to z in names.
std::string FoldCase(std::string_view text);

struct ZipLimits {
  uint64_t max_entries = 2'000'000;
  uint64_t max_directory_bytes = uint64_t{512} << 20;
  uint64_t max_entry_bytes = uint64_t{256} << 20;  // of an entry that Read inflates or copies
};

struct ZipEntry {
  std::string name;
  uint64_t header_offset = 0;    // of the local header
  uint64_t compressed_size = 0;  // as stored in the file
  uint64_t size = 0;             // once inflated
  uint32_t crc32 = 0;
  uint16_t method = 0;  // 0 stored, 8 deflated; others are refused by Read only
  uint16_t flags = 0;
};

class ZipFile {
 public:
  static ArchiveResult<ZipFile> Open(const std::string& path, const ZipLimits& limits = {});

  /// In the order of the directory.
  const std::vector<ZipEntry>& entries() const { return entries_; }
  /// The entry of exactly this name, or null. No two entries differ in case alone.
  const ZipEntry* Find(std::string_view name) const;

  /// Where the entry's bytes begin in the file. Checks its local header against the directory.
  ArchiveResult<uint64_t> DataOffset(const ZipEntry& entry) const;

  /// The entry's bytes, inflated if need be, with size and CRC checked.
  ArchiveResult<std::string> Read(const ZipEntry& entry) const;

  const InputFile& file() const { return file_; }

  /// Where the directory begins: all entries end before it.
  uint64_t directory_offset() const { return directory_offset_; }

 private:
  explicit ZipFile(InputFile file) : file_(std::move(file)) {}

  InputFile file_;
  ZipLimits limits_;
  uint64_t directory_offset_ = 0;
  std::vector<ZipEntry> entries_;
  std::vector<uint32_t> by_name_;  // indices of entries_, sorted by name
};

}  // namespace kernelmap
