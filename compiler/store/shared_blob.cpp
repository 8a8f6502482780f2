#include "compiler/store/shared_blob.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <string>

namespace kernelmap {

Descriptor OpenSharedBlob(const Descriptor& cache, std::string_view link) {
  constexpr std::string_view kShared = "../../blobs/";
  constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  if (!cache || !link.starts_with(kShared)) return Descriptor();
  const std::string path(link.substr(kShared.size()));  // 12/1234…, 64 digits
  if (path.size() != 3 + 64 || path[2] != '/' || path.substr(0, 2) != path.substr(3, 2) ||
      path.find_first_not_of("0123456789abcdef", 3) != std::string::npos) {
    return Descriptor();
  }
  const Descriptor blobs(openat(cache.get(), "blobs", kFolder));
  const Descriptor folder(blobs ? openat(blobs.get(), path.substr(0, 2).c_str(), kFolder) : -1);
  const std::string name = path.substr(3);
  struct stat status {};
  // Opening a device could do something, so it is not even tried.
  if (!folder || fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(status.st_mode)) {
    return Descriptor();
  }
  return Descriptor(openat(folder.get(), name.c_str(),
                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

}  // namespace kernelmap
