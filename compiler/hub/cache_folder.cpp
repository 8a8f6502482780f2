#include "compiler/hub/cache_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <utility>
#include <vector>

#include "compiler/sha256.h"

namespace kernelmap {
namespace {

std::vector<std::string> PartsOf(std::string_view path) {
  std::vector<std::string> parts;
  while (true) {
    const size_t slash = path.find('/');
    parts.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace

Reason CannotWrite(const std::string& what) {
  const int error = errno;
  if (error == ELOOP || error == ENOTDIR || error == EISDIR) {
    return {"unsafe_path", "`" + Visible(what) + "` of the cache is no folder or file of its own",
            ""};
  }
  return {"cannot_write",
          "`" + Visible(what) + "` of the cache cannot be written: " + std::strerror(error), ""};
}

Descriptor OpenFolder(const Descriptor& at, const std::string& name) {
  return Descriptor(
      openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

Descriptor MakeFolder(const Descriptor& from, std::string_view path, Reason* reason) {
  Descriptor at(openat(from.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (path.empty()) return at;
  for (const std::string& part : PartsOf(path)) {
    if (part == "." || part == "..") {
      return *reason = {"unsafe_path", "a path leads outside the repository", ""}, Descriptor();
    }
    Descriptor next = OpenFolder(at, part);
    if (!next && errno == ENOENT &&
        (mkdirat(at.get(), part.c_str(), 0777) == 0 || errno == EEXIST)) {
      next = OpenFolder(at, part);
    }
    if (!next) {
      *reason = CannotWrite(std::string(path));
      return Descriptor();
    }
    at = std::move(next);
  }
  return at;
}

std::string CacheProblem(const std::string& cache) {
  const std::string cannot = "cannot be made: ";
  for (std::filesystem::path at = cache;; at = at.parent_path()) {
    if (at.empty()) at = ".";
    struct stat status {};
    const bool itself = at == std::filesystem::path(cache);
    const std::string what = itself ? "" : cannot + "`" + at.string() + "` ";
    if (stat(at.c_str(), &status) == 0) {
      if (!S_ISDIR(status.st_mode)) return what + "is no folder";
      if (itself || access(at.c_str(), W_OK | X_OK) == 0) return "";
      return cannot + std::strerror(errno);
    }
    if (errno != ENOENT && errno != ENOTDIR) return cannot + std::strerror(errno);
    if (lstat(at.c_str(), &status) == 0) return what + "is a link that leads nowhere";
    if (at == "." || at == at.parent_path()) return cannot + std::strerror(ENOENT);
  }
}

void RemoveFolder(const Descriptor& parent, const std::string& name) {
  const Descriptor folder = OpenFolder(parent, name);
  DIR* stream = folder ? fdopendir(dup(folder.get())) : nullptr;
  if (!stream) return;
  while (const dirent* entry = readdir(stream)) {
    const std::string below = entry->d_name;
    if (below == "." || below == "..") continue;
    if (unlinkat(folder.get(), below.c_str(), 0) != 0) RemoveFolder(folder, below);
  }
  closedir(stream);
  unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR);
}

std::string LeafOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string RandomName() {
  std::random_device device;
  const uint32_t bits = device();
  return ToHex({reinterpret_cast<const char*>(&bits), sizeof bits});
}

}  // namespace kernelmap
