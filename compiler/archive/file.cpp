#include "compiler/archive/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "compiler/sha256.h"

namespace kernelmap {
namespace {

ArchiveError ReadFailed(const char* reason) {
  return ErrorOf(ArchiveErrorCode::kCannotRead, std::string("cannot read it: ") + reason);
}

}  // namespace

ArchiveResult<InputFile> InputFile::Open(const std::string& path) {
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return ReadFailed(std::strerror(errno));
  InputFile file(fd, 0);
  struct stat status {};
  if (fstat(fd, &status) != 0) return ReadFailed(std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return ReadFailed("it is a directory");
  if (!S_ISREG(status.st_mode)) return ReadFailed("it is not a regular file");
  file.size_ = static_cast<uint64_t>(status.st_size);
  return file;
}

InputFile::InputFile(InputFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

ArchiveResult<std::string> InputFile::Read(uint64_t offset, uint64_t size) const {
  if (offset > size_ || size > size_ - offset) {
    return ErrorAt(ArchiveErrorCode::kTruncated, size_, "the file ends too early");
  }
  std::string bytes(size, '\0');
  uint64_t done = 0;
  while (done < size) {
    const ssize_t n =
        pread(descriptor_, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ReadFailed(std::strerror(errno));
    if (n == 0) return ErrorAt(ArchiveErrorCode::kTruncated, offset + done, "the file shrank");
    done += static_cast<uint64_t>(n);
  }
  return bytes;
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

ArchiveResult<std::string> Sha256File(const std::string& path) {
  ArchiveResult<InputFile> file = InputFile::Open(path);
  if (!file) return file.error();
  Hasher hasher;
  constexpr uint64_t kChunk = 1 << 20;
  for (uint64_t offset = 0; offset < file->size(); offset += kChunk) {
    const ArchiveResult<std::string> bytes =
        file->Read(offset, std::min(kChunk, file->size() - offset));
    if (!bytes) return bytes.error();
    hasher.Add(*bytes);
  }
  return ToHex(hasher.Finish());
}

}  // namespace kernelmap
