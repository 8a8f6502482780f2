// Reading the directory of a zip file: ZipFile::Open.
#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "compiler/archive/zip.h"
#include "compiler/archive/zip_format.h"

namespace kernelmap {
namespace {

using namespace zip_format;

constexpr uint64_t kMaxComment = 0xffff;
// Deflate cannot shrink further than this: a directory that claims more lies.
constexpr uint64_t kMaxDeflateRatio = 1032;

/// What the end of the file says of the directory.
struct DirectoryPlace {
  uint64_t offset = 0, size = 0, count = 0;
};

ArchiveResult<DirectoryPlace> ReadEnd64(const InputFile& file, std::string_view locator,
                                        uint64_t locator_offset, const DirectoryPlace& short_form) {
  const uint64_t at = Load<uint64_t>(locator, 8);
  if (locator_offset < kEnd64Size || at > locator_offset - kEnd64Size) {
    return Malformed(locator_offset, "the zip64 locator points outside the file");
  }
  const ArchiveResult<std::string> record = file.Read(at, kEnd64Size);
  if (!record) return record.error();
  if (Load<uint32_t>(*record, 0) != kEnd64Signature) {
    return Malformed(at, "no zip64 end record where the locator points");
  }
  if (Load<uint32_t>(*record, 16) != 0 || Load<uint32_t>(*record, 20) != 0) {
    return ErrorAt(ArchiveErrorCode::kUnsupported, at, "the zip is split over several disks");
  }
  const DirectoryPlace place{Load<uint64_t>(*record, 48), Load<uint64_t>(*record, 40),
                             Load<uint64_t>(*record, 32)};
  // A reader without zip64 must not see another directory than we do.
  if ((short_form.count != 0xffff && short_form.count != place.count) ||
      (short_form.size != 0xffffffff && short_form.size != place.size) ||
      (short_form.offset != 0xffffffff && short_form.offset != place.offset)) {
    return Malformed(at, "the two end records of the zip contradict each other");
  }
  if (place.offset > at || place.size > at - place.offset) {
    return Malformed(at, "the zip directory does not fit the file");
  }
  return place;
}

ArchiveResult<DirectoryPlace> FindDirectory(const InputFile& file) {
  const uint64_t tail_size = std::min(file.size(), kEndSize + kMaxComment + kLocatorSize);
  const uint64_t tail_offset = file.size() - tail_size;
  const ArchiveResult<std::string> read = file.Read(tail_offset, tail_size);
  if (!read) return read.error();
  const std::string& tail = *read;
  // The last signature counts, as in torch's reader.
  size_t at = tail.rfind("PK\x05\x06");
  if (at == std::string::npos || tail.size() - at < kEndSize) {
    const ArchiveResult<std::string> head = file.Read(0, std::min<uint64_t>(4, file.size()));
    if (head && head->size() == 4 && Load<uint32_t>(*head, 0) == kLocalSignature) {
      return ErrorAt(ArchiveErrorCode::kTruncated, file.size(),
                     "the zip has no directory at its end: it is truncated");
    }
    return ErrorAt(ArchiveErrorCode::kNotZip, 0, "not a zip file");
  }
  const uint64_t end_offset = tail_offset + at;
  const uint64_t end_size = kEndSize + Load<uint16_t>(tail, at + 20);
  if (end_size > tail.size() - at) {
    return ErrorAt(ArchiveErrorCode::kTruncated, file.size(), "the zip's end record is truncated");
  }
  if (end_size < tail.size() - at) {
    return Malformed(end_offset + end_size, "other bytes follow the zip's end");
  }
  if (Load<uint16_t>(tail, at + 4) != 0 || Load<uint16_t>(tail, at + 6) != 0) {
    return ErrorAt(ArchiveErrorCode::kUnsupported, end_offset,
                   "the zip is split over several disks");
  }
  const DirectoryPlace place{Load<uint32_t>(tail, at + 16), Load<uint32_t>(tail, at + 12),
                             Load<uint16_t>(tail, at + 10)};
  if (at >= kLocatorSize && Load<uint32_t>(tail, at - kLocatorSize) == kLocator64Signature) {
    return ReadEnd64(file, std::string_view(tail).substr(at - kLocatorSize, kLocatorSize),
                     end_offset - kLocatorSize, place);
  }
  if (place.offset > end_offset || place.size > end_offset - place.offset) {
    return Malformed(end_offset, "the zip directory does not fit the file");
  }
  return place;
}

/// Replaces the fields of `entry` that are all ones by those of its zip64 extra field.
bool ApplyZip64(std::string_view extra, ZipEntry& entry) {
  bool size = entry.size == 0xffffffff, compressed = entry.compressed_size == 0xffffffff,
       offset = entry.header_offset == 0xffffffff;
  bool found = false;
  while (!extra.empty()) {
    if (extra.size() < 4) return false;
    const uint16_t id = Load<uint16_t>(extra, 0), length = Load<uint16_t>(extra, 2);
    if (length > extra.size() - 4) return false;
    std::string_view body = extra.substr(4, length);
    extra.remove_prefix(4 + length);
    if (id != 1) continue;
    if (found) return false;
    found = true;
    for (auto [wanted, field] :
         {std::pair(size, &entry.size), std::pair(compressed, &entry.compressed_size),
          std::pair(offset, &entry.header_offset)}) {
      if (!wanted) continue;
      if (body.size() < 8) return false;
      *field = Load<uint64_t>(body, 0);
      body.remove_prefix(8);
    }
  }
  return true;
}

/// Empty when the name is safe to compare, print and use as a relative path; else what is wrong.
std::string_view UnsafeName(std::string_view name) {
  if (name.empty()) return "it is empty";
  if (name.front() == '/') return "it is absolute";
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return "it has a control character";
    if (c == '\\') return "it has a backslash";
  }
  while (!name.empty()) {
    const size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part == "..") return "it has `..`";
    if (part.empty() || part == ".") return "it has an empty part";
    name.remove_prefix(slash == std::string_view::npos ? name.size() : slash + 1);
  }
  return "";
}

std::string Printable(std::string_view name) {
  std::string text;
  for (const char c : name.substr(0, 200)) {
    text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return text;
}

/// The entry at `at` of the directory, and how many bytes it takes.
ArchiveResult<std::pair<ZipEntry, uint64_t>> ParseEntry(std::string_view directory, uint64_t at,
                                                        uint64_t directory_offset) {
  const std::string_view rest = directory.substr(at);
  const uint64_t place = directory_offset + at;
  if (rest.size() < kCentralSize || Load<uint32_t>(rest, 0) != kCentralSignature) {
    return Malformed(place, "the zip directory is damaged: no entry here");
  }
  const uint64_t name_length = Load<uint16_t>(rest, 28), extra_length = Load<uint16_t>(rest, 30),
                 comment_length = Load<uint16_t>(rest, 32);
  const uint64_t length = kCentralSize + name_length + extra_length + comment_length;
  if (rest.size() < length) return Malformed(place, "a zip directory entry is cut off");
  ZipEntry entry;
  entry.name = rest.substr(kCentralSize, name_length);
  entry.flags = Load<uint16_t>(rest, 8);
  entry.method = Load<uint16_t>(rest, 10);
  entry.crc32 = Load<uint32_t>(rest, 16);
  entry.compressed_size = Load<uint32_t>(rest, 20);
  entry.size = Load<uint32_t>(rest, 24);
  entry.header_offset = Load<uint32_t>(rest, 42);
  const auto shown = [&entry] { return "`" + Printable(entry.name) + "`"; };
  if (const std::string_view why = UnsafeName(entry.name); !why.empty()) {
    return ErrorAt(ArchiveErrorCode::kUnsafeName, place,
                   "the entry name " + shown() + " is not safe: " + std::string(why));
  }
  if (!ApplyZip64(rest.substr(kCentralSize + name_length, extra_length), entry)) {
    return Malformed(place, "the extra field of entry " + shown() + " is damaged");
  }
  if (entry.flags & 1) {
    return ErrorAt(ArchiveErrorCode::kUnsupported, place, "entry " + shown() + " is encrypted");
  }
  const uint64_t header = kLocalSize + name_length;
  if (entry.header_offset > directory_offset || header > directory_offset - entry.header_offset ||
      entry.compressed_size > directory_offset - entry.header_offset - header) {
    return Malformed(place, "entry " + shown() + " does not fit the file");
  }
  if (entry.method == 0 ? entry.size != entry.compressed_size
                        : entry.size / kMaxDeflateRatio > entry.compressed_size) {
    return Malformed(place, "entry " + shown() + " lies about its size");
  }
  return std::pair(std::move(entry), length);
}

/// torch takes either of two names that differ in case alone, so they count as the same.
std::optional<ArchiveError> FindDuplicate(const std::vector<ZipEntry>& entries) {
  // By hash first: comparing long common prefixes is what sorting names spends its time on.
  struct Folded {
    size_t hash;
    uint32_t index;
  };
  std::vector<Folded> folded;
  folded.reserve(entries.size());
  for (const ZipEntry& entry : entries) {
    folded.push_back({std::hash<std::string>()(FoldCase(entry.name)),
                      static_cast<uint32_t>(&entry - entries.data())});
  }
  const auto name = [&](const Folded& f) { return FoldCase(entries[f.index].name); };
  std::sort(folded.begin(), folded.end(), [&](const Folded& a, const Folded& b) {
    return a.hash != b.hash ? a.hash < b.hash : name(a) < name(b);
  });
  const auto twice = std::adjacent_find(
      folded.begin(), folded.end(),
      [&](const Folded& a, const Folded& b) { return a.hash == b.hash && name(a) == name(b); });
  if (twice == folded.end()) return std::nullopt;
  const ZipEntry& first = entries[twice->index];
  const ZipEntry& second = entries[(twice + 1)->index];
  std::string message = "two entries are named `" + Printable(first.name) + "`";
  if (first.name != second.name) {
    message = "the entries `" + Printable(first.name) + "` and `" + Printable(second.name) +
              "` differ in case alone, which torch does not see";
  }
  return ErrorAt(ArchiveErrorCode::kDuplicate, second.header_offset, std::move(message));
}

/// Overlapping entries are how a small file pretends to hold a large one.
std::optional<ArchiveError> FindOverlap(const std::vector<ZipEntry>& entries) {
  std::vector<uint32_t> order(entries.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return entries[a].header_offset < entries[b].header_offset;
  });
  for (size_t i = 1; i < order.size(); ++i) {
    const ZipEntry& before = entries[order[i - 1]];
    const ZipEntry& after = entries[order[i]];
    if (before.header_offset + kLocalSize + before.name.size() + before.compressed_size >
        after.header_offset) {
      return Malformed(after.header_offset, "entries `" + Printable(before.name) + "` and `" +
                                                Printable(after.name) + "` overlap");
    }
  }
  return std::nullopt;
}

}  // namespace

std::string FoldCase(std::string_view text) {
  std::string folded(text);
  for (char& c : folded) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return folded;
}

ArchiveResult<ZipFile> ZipFile::Open(const std::string& path, const ZipLimits& limits) {
  ArchiveResult<InputFile> file = InputFile::Open(path);
  if (!file) return file.error();
  const ArchiveResult<DirectoryPlace> place = FindDirectory(*file);
  if (!place) return place.error();
  if (place->size > limits.max_directory_bytes || place->count > limits.max_entries) {
    return ErrorAt(ArchiveErrorCode::kTooLarge, place->offset,
                   "the zip directory is over the limit of " + std::to_string(limits.max_entries) +
                       " entries or " + std::to_string(limits.max_directory_bytes) + " bytes");
  }
  if (place->count > place->size / kCentralSize) {
    return Malformed(place->offset, "the zip directory is too small for its number of entries");
  }
  const ArchiveResult<std::string> directory = file->Read(place->offset, place->size);
  if (!directory) return directory.error();

  ZipFile zip(std::move(*file));
  zip.limits_ = limits;
  zip.directory_offset_ = place->offset;
  zip.entries_.reserve(place->count);
  uint64_t at = 0;
  for (uint64_t i = 0; i < place->count; ++i) {
    ArchiveResult<std::pair<ZipEntry, uint64_t>> entry = ParseEntry(*directory, at, place->offset);
    if (!entry) return entry.error();
    zip.entries_.push_back(std::move(entry->first));
    at += entry->second;
  }
  if (at != directory->size()) {
    return Malformed(place->offset + at, "the zip directory is longer than its entries");
  }

  zip.by_name_.resize(zip.entries_.size());
  std::iota(zip.by_name_.begin(), zip.by_name_.end(), 0);
  std::sort(zip.by_name_.begin(), zip.by_name_.end(),
            [&](uint32_t a, uint32_t b) { return zip.entries_[a].name < zip.entries_[b].name; });
  if (const std::optional<ArchiveError> error = FindDuplicate(zip.entries_)) return *error;
  if (const std::optional<ArchiveError> error = FindOverlap(zip.entries_)) return *error;
  return zip;
}

}  // namespace kernelmap
