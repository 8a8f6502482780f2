// A private copy of a file that was found, for loading: what is hashed is what is loaded.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "compiler/sha256.h"
#include "compiler/store/folder.h"
#include "compiler/store/repository.h"
#include "compiler/write_all.h"

namespace kernelmap {
namespace {

// A repository of a cache may have blobs that others have too.
std::optional<Folder> OpenFound(const FoundRepository& repository, FolderError* error) {
  const std::string& path = repository.folder;
  if (repository.repo.empty()) return Folder::Open(path, error);
  const size_t slash = path.rfind('/');
  const auto cache = Folder::Open(path.substr(0, slash + 1), error);
  return cache ? cache->Sub(path.substr(slash + 1), error) : std::nullopt;
}

}  // namespace

int OpenChecked(const FoundRepository& repository, const std::string& path, std::string* error) {
  const auto fail = [&](const std::string& why) {
    *error = "`" + Visible(path) + "` " + why;
    return -1;
  };
  const auto file = std::find_if(repository.files.begin(), repository.files.end(),
                                 [&](const RepositoryFile& one) { return one.path == path; });
  if (file == repository.files.end()) return fail("is no file of the kernel");
  FolderError folder_error = FolderError::kNone;
  const auto folder = OpenFound(repository, &folder_error);
  if (!folder) return fail(std::string(FolderErrorText(folder_error)));
  const std::string prefix =
      repository.variant_folder.empty() ? "" : repository.variant_folder + "/";
  uint64_t size = 0;
  const Descriptor from = folder->OpenFile(prefix + path, &size, &folder_error);
  if (!from) return fail(std::string(FolderErrorText(folder_error)));

  Descriptor copy(memfd_create("kernel", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!copy) return fail(std::string("cannot be copied: ") + std::strerror(errno));
  Hasher hasher;
  std::string buffer(1 << 18, '\0');
  uint64_t total = 0;
  while (true) {
    const ssize_t got = read(from.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(std::string("cannot be read: ") + std::strerror(errno));
    if (got == 0) break;
    total += static_cast<uint64_t>(got);
    if (total > file->size) break;  // it grows: no need to read all of it
    const std::string_view bytes(buffer.data(), static_cast<size_t>(got));
    hasher.Add(bytes);
    if (!WriteAll(copy.get(), bytes)) {
      return fail(std::string("cannot be copied: ") + std::strerror(errno));
    }
  }
  if (total != file->size || ToHex(hasher.Finish()) != file->sha256) {
    return fail("has changed since it was found");
  }
  if (fcntl(copy.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)) {
    return fail(std::string("cannot be sealed: ") + std::strerror(errno));
  }
  lseek(copy.get(), 0, SEEK_SET);
  return copy.Release();
}

}  // namespace kernelmap
