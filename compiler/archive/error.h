// Errors of reading an archive, as values. Nothing under compiler/archive/ throws across a header.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace kernelmap {

enum class ArchiveErrorCode {
  kCannotRead,      // missing, a directory, no permission, an I/O error: a fault of the path
  kNotZip,          // something else altogether
  kNotTorchScript,  // a zip, but a torch.save file, a torch.export archive, a plain zip, …
  kTruncated,       // ends before what its own fields announce
  kMalformed,       // contradicts itself or the format
  kUnsafeName,      // an entry name that is absolute, has `..`, or could mean two things
  kDuplicate,       // two entries of one name
  kTooLarge,        // over one of our limits
  kUnsupported,     // encrypted, split over disks, or compressed in a way torch does not write
  kChecksum,        // an entry's bytes are not what its CRC says
};

struct ArchiveError {
  ArchiveErrorCode code = ArchiveErrorCode::kMalformed;
  std::string message;  // lower case, no full stop, names the entry where there is one
  std::string entry;    // the entry that `offset` counts in; empty: the file itself
  uint64_t offset = 0;  // of the offending bytes
  bool has_offset = false;
};

/// A value or the error that kept it from being made.
template <typename T>
class ArchiveResult {
 public:
  ArchiveResult(T value) : value_(std::move(value)) {}             // NOLINT: as for std::expected
  ArchiveResult(ArchiveError error) : error_(std::move(error)) {}  // NOLINT
  explicit operator bool() const { return value_.has_value(); }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  const ArchiveError& error() const { return error_; }

 private:
  std::optional<T> value_;
  ArchiveError error_;
};

/// An error at byte `offset` of the file or, when named, of `entry`.
inline ArchiveError ErrorAt(ArchiveErrorCode code, uint64_t offset, std::string message,
                            std::string entry = "") {
  return {code, std::move(message), std::move(entry), offset, true};
}

inline ArchiveError ErrorOf(ArchiveErrorCode code, std::string message) {
  return {code, std::move(message), "", 0, false};
}

/// The message with its place: "… (byte 12 of `data.pkl`)".
std::string Describe(const ArchiveError& error);

}  // namespace kernelmap
