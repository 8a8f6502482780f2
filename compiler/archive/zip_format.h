// The layout of zip files, for zip.cpp and zip_directory.cpp alone.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "compiler/archive/error.h"

namespace kernelmap::zip_format {

inline constexpr uint32_t kLocalSignature = 0x04034b50;
inline constexpr uint32_t kCentralSignature = 0x02014b50;
inline constexpr uint32_t kEnd64Signature = 0x06064b50;
inline constexpr uint32_t kLocator64Signature = 0x07064b50;

// Sizes of the records without their names, extra fields and comments.
inline constexpr uint64_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kEnd64Size = 56,
                          kLocatorSize = 20;

/// The number at `offset`, which the caller has bounded.
template <typename T>
T Load(std::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);  // zip is little-endian, as are we
  return value;
}

inline ArchiveError Malformed(uint64_t offset, std::string message) {
  return ErrorAt(ArchiveErrorCode::kMalformed, offset, std::move(message));
}

}  // namespace kernelmap::zip_format
