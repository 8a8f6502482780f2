// A file opened once and read at offsets. It is never mapped: a mapping of a file that shrinks
// meanwhile would end the program.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "compiler/archive/error.h"

namespace kernelmap {

class InputFile {
 public:
  /// Opens a regular file for reading; anything else (a directory, a pipe) is kCannotRead.
  static ArchiveResult<InputFile> Open(const std::string& path);

  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  uint64_t size() const { return size_; }  // when it was opened

  /// The descriptor, for copying whole ranges; it stays ours.
  int descriptor() const { return descriptor_; }

  /// Exactly `size` bytes at `offset`, which the caller has bounded; the error when there are
  /// fewer.
  ArchiveResult<std::string> Read(uint64_t offset, uint64_t size) const;

 private:
  InputFile(int descriptor, uint64_t size) : descriptor_(descriptor), size_(size) {}
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

/// What follows the last slash: how outputs name a file.
std::string BaseName(const std::string& path);

/// The SHA-256 of a file in lower-case hexadecimal.
ArchiveResult<std::string> Sha256File(const std::string& path);

}  // namespace kernelmap
