// Finding and reading single entries of a zip file.
#include "compiler/archive/zip.h"

#include <zlib.h>

#include <algorithm>
#include <optional>

#include "compiler/archive/zip_format.h"

namespace kernelmap {
namespace {

using namespace zip_format;

/// The size of a local header, once it agrees with the directory. `bytes` begins with it and holds
/// its fixed part and name.
ArchiveResult<uint64_t> CheckLocalHeader(std::string_view bytes, const ZipEntry& entry,
                                         uint64_t directory_offset) {
  if (Load<uint32_t>(bytes, 0) != kLocalSignature) {
    return Malformed(entry.header_offset, "no local header for entry `" + entry.name + "`");
  }
  const uint64_t name_length = Load<uint16_t>(bytes, 26), extra_length = Load<uint16_t>(bytes, 28);
  if (name_length != entry.name.size() || bytes.substr(kLocalSize, name_length) != entry.name ||
      Load<uint16_t>(bytes, 8) != entry.method) {
    return Malformed(entry.header_offset,
                     "the local header of entry `" + entry.name + "` differs from the directory");
  }
  const uint64_t length = kLocalSize + name_length + extra_length;
  if (length > directory_offset - entry.header_offset ||
      entry.compressed_size > directory_offset - entry.header_offset - length) {
    return Malformed(entry.header_offset, "entry `" + entry.name + "` does not fit the file");
  }
  return length;
}

/// zlib's state, made once a thread: making it costs more than inflating a small entry.
struct Inflater {
  z_stream stream{};
  const bool ready = inflateInit2(&stream, -MAX_WBITS) == Z_OK;
  Inflater() = default;
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (ready) inflateEnd(&stream);
  }
};

/// `input` inflated to exactly `size` bytes, or nothing.
std::optional<std::string> Inflate(std::string_view input, uint64_t size) {
  thread_local Inflater inflater;
  z_stream& stream = inflater.stream;
  if (!inflater.ready || inflateReset(&stream) != Z_OK) return std::nullopt;
  std::string output(size + 1, '\0');  // a byte more, so that output beyond `size` is seen
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(output.data());
  stream.avail_out = static_cast<uInt>(output.size());
  const int status = inflate(&stream, Z_FINISH);
  if (status != Z_STREAM_END || stream.total_out != size || stream.avail_in != 0) {
    return std::nullopt;
  }
  output.resize(size);
  return output;
}

}  // namespace

const ZipEntry* ZipFile::Find(std::string_view name) const {
  const auto it = std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [&](uint32_t i, std::string_view wanted) { return entries_[i].name < wanted; });
  return it != by_name_.end() && entries_[*it].name == name ? &entries_[*it] : nullptr;
}

ArchiveResult<uint64_t> ZipFile::DataOffset(const ZipEntry& entry) const {
  const ArchiveResult<std::string> header =
      file_.Read(entry.header_offset, kLocalSize + entry.name.size());
  if (!header) return header.error();
  const ArchiveResult<uint64_t> length = CheckLocalHeader(*header, entry, directory_offset_);
  if (!length) return length.error();
  return entry.header_offset + *length;
}

ArchiveResult<std::string> ZipFile::Read(const ZipEntry& entry) const {
  if (std::max(entry.size, entry.compressed_size) > limits_.max_entry_bytes) {
    return ErrorAt(ArchiveErrorCode::kTooLarge, entry.header_offset,
                   "entry `" + entry.name + "` has " + std::to_string(entry.size) +
                       " bytes, over the limit of " + std::to_string(limits_.max_entry_bytes));
  }
  if (entry.method != 0 && entry.method != 8) {
    return ErrorAt(ArchiveErrorCode::kUnsupported, entry.header_offset,
                   "entry `" + entry.name + "` has compression method " +
                       std::to_string(entry.method) + ", which torch does not write");
  }
  // One read for header and data: an archive may have tens of thousands of small entries.
  constexpr uint64_t kGuess = 128;  // torch pads data to 64 bytes with an extra field
  const uint64_t minimum = kLocalSize + entry.name.size();
  const uint64_t guess =
      std::min(minimum + kGuess + entry.compressed_size, directory_offset_ - entry.header_offset);
  ArchiveResult<std::string> bytes = file_.Read(entry.header_offset, guess);
  if (!bytes) return bytes.error();
  const ArchiveResult<uint64_t> length = CheckLocalHeader(*bytes, entry, directory_offset_);
  if (!length) return length.error();
  if (bytes->size() - std::min<uint64_t>(*length, bytes->size()) < entry.compressed_size) {
    bytes = file_.Read(entry.header_offset, *length + entry.compressed_size);
    if (!bytes) return bytes.error();
  }
  std::string data;
  if (entry.method == 0) {
    data = bytes->substr(*length, entry.compressed_size);
  } else {
    std::optional<std::string> inflated =
        Inflate(std::string_view(*bytes).substr(*length, entry.compressed_size), entry.size);
    if (!inflated) {
      return Malformed(entry.header_offset + *length,
                       "the compressed data of entry `" + entry.name + "` is damaged");
    }
    data = std::move(*inflated);
  }
  if (crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size()) != entry.crc32) {
    return ErrorAt(ArchiveErrorCode::kChecksum, entry.header_offset + *length,
                   "entry `" + entry.name + "` is damaged: its checksum does not match");
  }
  return data;
}

}  // namespace kernelmap
