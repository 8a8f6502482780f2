#include "compiler/hub/cache_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <thread>
#include <utility>

#include "compiler/hub/cache_folder.h"
#include "compiler/sha256.h"

namespace kernelmap {
namespace {

constexpr std::chrono::milliseconds kStep(50);

std::string FolderOf(std::string repo) {
  repo.replace(repo.find('/'), 1, "--");
  return "kernels--" + repo;
}

// Backup programs leave out a folder with this file; the Python library writes it too.
void TagCache(const Descriptor& cache) {
  constexpr std::string_view kText =
      "Signature: 8a477f597d28d172789f06886806bc55\n"
      "# What is here can be downloaded again: see https://bford.info/cachedir/\n";
  const Descriptor tag(openat(cache.get(), "CACHEDIR.TAG",
                              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  // Without it the cache is one all the same.
  if (tag && write(tag.get(), kText.data(), kText.size()) < 0) return;
}

}  // namespace

bool HasContent(const Descriptor& descriptor, const HubFile& file) {
  struct stat status {};
  if (fstat(descriptor.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<uint64_t>(status.st_size) != file.size) {
    return false;
  }
  const bool git = file.digest.size() == 40;
  Hasher hasher(git ? Hasher::Kind::kSha1 : Hasher::Kind::kSha256);
  if (git) {
    hasher.Add("blob " + std::to_string(file.size));
    hasher.Add({"\0", 1});
  }
  std::string buffer(1 << 18, '\0');
  uint64_t done = 0;
  while (done < file.size) {
    const ssize_t got =
        pread(descriptor.get(), buffer.data(), buffer.size(), static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    hasher.Add({buffer.data(), static_cast<size_t>(got)});
    done += static_cast<uint64_t>(got);
  }
  return done == file.size && ToHex(hasher.Finish()) == file.digest;
}

std::optional<CacheWriter> CacheWriter::Open(const std::string& cache, const std::string& repo,
                                             Reason* reason) {
  std::error_code error;
  std::filesystem::create_directories(cache, error);
  // The cache itself is the caller's choice: links in its own path are followed.
  const Descriptor root(open(cache.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) {
    *reason = Reason{"cannot_write",
                     std::string("the folder of the cache cannot be opened: ") +
                         std::strerror(error ? error.value() : errno),
                     ""};
    return std::nullopt;
  }
  TagCache(root);
  CacheWriter writer;
  writer.repo_ = MakeFolder(root, FolderOf(repo), reason);
  if (writer.repo_) writer.blobs_ = MakeFolder(writer.repo_, "blobs", reason);
  if (writer.blobs_ && !MakeFolder(writer.repo_, "snapshots", reason)) return std::nullopt;
  if (writer.blobs_) writer.locks_ = MakeFolder(root, ".locks/" + FolderOf(repo), reason);
  if (!writer.locks_) return std::nullopt;
  writer.root_ = Descriptor(openat(root.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return writer;
}

std::optional<CacheWriter::BlobLock> CacheWriter::Lock(const std::string& digest,
                                                       std::chrono::seconds patience,
                                                       const std::atomic<bool>& stop,
                                                       Reason* reason) const {
  const std::string name = digest + ".lock", partial = digest + ".incomplete";
  const auto start = std::chrono::steady_clock::now();
  auto moved = start;
  off_t size = -1;
  while (true) {
    Descriptor file(openat(locks_.get(), name.c_str(),
                           O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0664));
    if (!file) return *reason = CannotWrite(".locks/" + name), std::nullopt;
    struct stat status {};
    // Others who share the cache wait for it too, as with the Python library.
    const bool own = fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                     status.st_nlink == 1 && status.st_uid == geteuid();
    if (own) fchmod(file.get(), 0664);
    if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
      // One that was removed meanwhile locks nothing.
      if (fstat(file.get(), &status) == 0 && status.st_nlink > 0) {
        return BlobLock{std::move(file), true};
      }
      continue;
    }
    if (errno != EWOULDBLOCK && errno != EACCES && errno != EINTR)
      return BlobLock{std::move(file), false};
    const auto now = std::chrono::steady_clock::now();
    if (fstatat(blobs_.get(), partial.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        status.st_size != size) {
      size = status.st_size;
      moved = now;
    }
    if (now - moved > patience) {
      *reason = {"busy", "another process holds the lock of a file, but writes nothing", ""};
      return std::nullopt;
    }
    if (stop) {
      *reason = {"stopped", "something else failed", ""};
      return std::nullopt;
    }
    std::this_thread::sleep_for(kStep);
  }
}

bool CacheWriter::HasBlob(const HubFile& file) const {
  const Descriptor blob(openat(blobs_.get(), file.digest.c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  return blob && HasContent(blob, file);
}

bool CacheWriter::MayHaveBlob(const HubFile& file) const {
  struct stat status {};
  return fstatat(blobs_.get(), file.digest.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(status.st_mode) && static_cast<uint64_t>(status.st_size) == file.size;
}

std::optional<std::string> CacheWriter::ReadBlob(const HubFile& file, uint64_t limit) const {
  const Descriptor blob(openat(blobs_.get(), file.digest.c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!blob || file.size > limit || !HasContent(blob, file)) return std::nullopt;
  std::string text(file.size, '\0');
  if (pread(blob.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return std::nullopt;
  }
  return text;
}

Descriptor CacheWriter::OpenPartial(const HubFile& file, bool locked, std::string* name,
                                    Reason* reason) const {
  // Without a lock nobody else may have the same name.
  *name = file.digest + (locked ? "" : "." + RandomName()) + ".incomplete";
  for (int tries = 0; tries < 2; ++tries) {
    Descriptor partial(openat(blobs_.get(), name->c_str(),
                              O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                              0666));
    struct stat status {};
    // With a second name it would be written there too.
    const bool fine = partial && fstat(partial.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                      status.st_nlink == 1;
    if (fine) return partial;
    if (tries == 1 || unlinkat(blobs_.get(), name->c_str(), 0) != 0) break;
  }
  *reason = CannotWrite("blobs/" + *name);
  return Descriptor();
}

bool CacheWriter::CopyShared(const HubFile& file, const Descriptor& partial) const {
  char text[PATH_MAX];
  const ssize_t length = readlinkat(blobs_.get(), file.digest.c_str(), text, sizeof text);
  if (length < 0) return false;
  // "../../blobs/12/1234…", from the folder of blobs.
  const std::string_view target(text, static_cast<size_t>(length));
  constexpr std::string_view kShared = "../../blobs/";
  if (!target.starts_with(kShared) || target.size() != kShared.size() + 3 + 64) return false;
  const std::string folder(target.substr(kShared.size(), 2)),
      name(target.substr(target.size() - 64));
  if ((folder + name).find_first_not_of("0123456789abcdef") != std::string::npos) return false;
  const Descriptor shared = OpenFolder(root_, "blobs");
  const Descriptor below = shared ? OpenFolder(shared, folder) : Descriptor();
  const Descriptor from(below ? openat(below.get(), name.c_str(),
                                       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
                              : -1);
  struct stat status {};
  if (!from || fstat(from.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<uint64_t>(status.st_size) != file.size) {
    return false;
  }
  std::string buffer(1 << 18, '\0');
  off_t done = 0;
  while (static_cast<uint64_t>(done) < file.size) {
    const ssize_t got = pread(from.get(), buffer.data(), buffer.size(), done);
    if (got <= 0 || pwrite(partial.get(), buffer.data(), static_cast<size_t>(got), done) != got) {
      return false;
    }
    done += got;
  }
  return ftruncate(partial.get(), done) == 0;
}

bool CacheWriter::FinishPartial(const Descriptor& file, const std::string& name,
                                const std::string& digest, Reason* reason) const {
  if (fsync(file.get()) != 0 ||
      renameat(blobs_.get(), name.c_str(), blobs_.get(), digest.c_str()) != 0) {
    return *reason = CannotWrite("blobs/" + digest), false;
  }
  fsync(blobs_.get());
  return true;
}

void CacheWriter::RemovePartial(const std::string& name) const {
  unlinkat(blobs_.get(), name.c_str(), 0);
}

std::optional<uint64_t> CacheWriter::FreeBytes() const {
  struct statvfs status {};
  if (fstatvfs(blobs_.get(), &status) != 0) return std::nullopt;
  return static_cast<uint64_t>(status.f_bavail) * status.f_frsize;
}

}  // namespace kernelmap
