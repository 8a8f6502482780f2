#include "compiler/hub/sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <vector>

#include "compiler/hub/cache_folder.h"

namespace kernelmap {
namespace {

constexpr time_t kOldSeconds = 3600;
constexpr size_t kMaxSwept = 10000;  // at once

bool IsHex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Whether a name is BEFORE.RANDOM.AFTER, with RandomName's eight digits.
bool HasForm(std::string_view name, std::string_view before, std::string_view after) {
  constexpr size_t kRandom = 8;
  return name.size() == before.size() + 1 + kRandom + 1 + after.size() &&
         name.starts_with(before) && name.ends_with(after) && name[before.size()] == '.' &&
         name[before.size() + 1 + kRandom] == '.' && IsHex(name.substr(before.size() + 1, kRandom));
}

// What is made under this name: S_IFDIR, S_IFREG or S_IFLNK; 0 where nothing is.
mode_t KindOf(std::string_view name) {
  if (HasForm(name, "build", "tmp")) return S_IFDIR;
  if (HasForm(name, "ref", "tmp")) return S_IFREG;
  const std::string_view digest = name.substr(0, name.find('.'));
  const bool blob = (digest.size() == 40 || digest.size() == 64) && IsHex(digest);
  return blob && HasForm(name, digest, "link") ? S_IFLNK : 0;
}

bool IsOld(const struct stat& status, mode_t kind) {
  return (status.st_mode & S_IFMT) == kind && status.st_uid == geteuid() &&
         time(nullptr) - status.st_mtime > kOldSeconds;
}

void Sweep(const Descriptor& blobs, const std::string& name) {
  const mode_t kind = KindOf(name);
  struct stat status {};
  if (fstatat(blobs.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      !IsOld(status, kind)) {
    return;
  }
  Descriptor held;  // links cannot be locked; they are moved as soon as they are made
  if (kind != S_IFLNK) {
    held = Descriptor(
        openat(blobs.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!held || flock(held.get(), LOCK_EX | LOCK_NB) != 0 || fstat(held.get(), &status) != 0 ||
        !IsOld(status, kind)) {
      return;
    }
  }
  kind == S_IFDIR ? RemoveFolder(blobs, name)
                  : static_cast<void>(unlinkat(blobs.get(), name.c_str(), 0));
}

}  // namespace

std::string NewBuildName() { return "build." + RandomName() + ".tmp"; }
std::string NewRefName() { return "ref." + RandomName() + ".tmp"; }
std::string NewLinkName(const std::string& digest) { return digest + "." + RandomName() + ".link"; }

void Hold(const Descriptor& made) { flock(made.get(), LOCK_EX | LOCK_NB); }

void SweepBlobs(const Descriptor& blobs) {
  const int own = openat(blobs.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* stream = own >= 0 ? fdopendir(own) : nullptr;
  if (!stream) return;
  std::vector<std::string> names;
  while (const dirent* entry = readdir(stream)) {
    if (KindOf(entry->d_name) != 0 && names.size() < kMaxSwept) names.emplace_back(entry->d_name);
  }
  closedir(stream);
  for (const std::string& name : names) Sweep(blobs, name);
}

}  // namespace kernelmap
