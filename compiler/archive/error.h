// Errors of reading an archive, as values. Nothing under compiler/archive/ throws across a header.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kernelmap {

/// One a line of errors.def.
enum class ArchiveErrorCode {
#define KM_ARCHIVE_ERROR(code, name, title, explanation) k##name,
#include "compiler/archive/errors.def"
};

struct ArchiveErrorKind {
  std::string_view code;  // "KM0804"
  std::string_view name;  // "Truncated"
  std::string_view title;
  std::string_view explanation;
};

/// Of every ArchiveErrorCode, in order.
const std::vector<ArchiveErrorKind>& ArchiveErrorKinds();

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

/// A line for people, with `file` as they called it: "m.pt: error[KM0804]: …", ending in a newline.
std::string ArchiveErrorToText(const std::string& file, const ArchiveError& error);

}  // namespace kernelmap
