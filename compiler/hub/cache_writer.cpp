#include "compiler/hub/cache_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <thread>
#include <utility>

#include "compiler/hub/cache_folder.h"
#include "compiler/hub/sweep.h"
#include "compiler/sha256.h"
#include "compiler/store/shared_blob.h"
#include "compiler/write_all.h"

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
  // Without it the cache is one all the same; half of it is none.
  if (tag && !WriteAll(tag.get(), kText)) unlinkat(cache.get(), "CACHEDIR.TAG", 0);
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
  SweepBlobs(writer.blobs_);
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

Descriptor CacheWriter::OpenBlob(const HubFile& file) const {
  Descriptor blob(openat(blobs_.get(), file.digest.c_str(),
                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (blob || errno != ELOOP) return blob;
  char link[PATH_MAX];
  const ssize_t length = readlinkat(blobs_.get(), file.digest.c_str(), link, sizeof link);
  return OpenSharedBlob(root_, {link, length < 0 ? 0 : static_cast<size_t>(length)});
}

bool CacheWriter::HasBlob(const HubFile& file) const {
  const Descriptor blob = OpenBlob(file);
  return blob && HasContent(blob, file);
}

bool CacheWriter::MayHaveBlob(const HubFile& file) const {
  const Descriptor blob = OpenBlob(file);
  struct stat status {};
  return blob && fstat(blob.get(), &status) == 0 && S_ISREG(status.st_mode) &&
         static_cast<uint64_t>(status.st_size) == file.size;
}

std::optional<std::string> CacheWriter::ReadBlob(const HubFile& file, uint64_t limit) const {
  const Descriptor blob = OpenBlob(file);
  if (!blob || file.size > limit || !HasContent(blob, file)) return std::nullopt;
  std::string text(file.size, '\0');
  if (pread(blob.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return std::nullopt;
  }
  return text;
}

uint64_t CacheWriter::PartialBytes(const HubFile& file) const {
  struct stat status {};
  const std::string name = file.digest + ".incomplete";
  if (fstatat(blobs_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(status.st_mode) || status.st_nlink != 1) {
    return 0;
  }
  constexpr uint64_t kBlock = 512;
  return std::min({static_cast<uint64_t>(status.st_size),
                   static_cast<uint64_t>(status.st_blocks) * kBlock, file.size});
}

Descriptor CacheWriter::OpenPartial(const HubFile& file, bool locked, std::string* name,
                                    Reason* reason) const {
  // Without a lock nobody else may have the same name.
  *name = file.digest + (locked ? "" : "." + RandomName()) + ".incomplete";
  for (int tries = 0; tries < 2; ++tries) {
    Descriptor partial(openat(blobs_.get(), name->c_str(),
                              O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                              0666));
    int error = errno;
    struct stat status {};
    // With a second name it would be written there too.
    const bool fine = partial && fstat(partial.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                      status.st_nlink == 1;
    if (fine) return partial;
    if (partial) error = ELOOP;  // something else than a file of its own
    const bool other = error == ELOOP || error == EISDIR || error == EACCES || error == ENXIO;
    const bool removed = tries == 0 && other && unlinkat(blobs_.get(), name->c_str(), 0) == 0;
    errno = error;  // why it was not opened, not why it cannot be removed
    if (!removed) break;
  }
  *reason = CannotWrite("blobs/" + *name);
  return Descriptor();
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
