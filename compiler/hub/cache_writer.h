// Writes a repository into a Hugging Face cache, in the layout and with the locks of the Python
// library, so that both may do so at once.
//
// What is in the cache is not trusted: every folder is opened below the one before and never
// through a symbolic link, so that nothing outside the repository's folder and the folder of its
// locks is written. What is made appears whole: blobs and refs are written to another name, synced
// and renamed; links are made beside the blobs and moved.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "compiler/hub/api.h"
#include "compiler/report.h"
#include "compiler/store/folder.h"

namespace kernelmap {

class CacheWriter {
 public:
  /// Opens kernels--ORG--NAME in the cache, makes what is not there, and removes what killed
  /// processes left. Nothing, and
  /// `cannot_write` or `unsafe_path`, where that fails.
  static std::optional<CacheWriter> Open(const std::string& cache, const std::string& repo,
                                         Reason* reason);

  /// A lock of this process on a blob, as the Python library has it. Closing it releases it.
  struct BlobLock {
    Descriptor file;
    bool real = true;  // false: the file system has no locks
  };
  /// Waits while others have it, unless they write nothing for as long as `patience`. Nothing, and
  /// `busy`, `cannot_write`, `unsafe_path` or `stopped`.
  std::optional<BlobLock> Lock(const std::string& digest, std::chrono::seconds patience,
                               const std::atomic<bool>& stop, Reason* reason) const;

  /// Whether the blob is a regular file, or one that all repositories share, with the content that
  /// its name says.
  bool HasBlob(const HubFile& file) const;

  /// The content of a blob that was downloaded; nothing where it is not there or too large.
  std::optional<std::string> ReadBlob(const HubFile& file, uint64_t limit) const;

  /// The file that a blob's bytes are collected in, beside it: of a locked blob what is there
  /// already stays. Its name in `name`.
  Descriptor OpenPartial(const HubFile& file, bool locked, std::string* name, Reason* reason) const;
  /// Syncs it and gives it the blob's name.
  bool FinishPartial(const Descriptor& file, const std::string& name, const std::string& digest,
                     Reason* reason) const;
  void RemovePartial(const std::string& name) const;

  /// Each file of snapshots/COMMIT becomes a link to its blob. A folder build/VARIANT that is not
  /// there appears with all of them at once.
  bool Link(const std::string& commit, const std::vector<HubFile>& files, Reason* reason) const;

  /// refs/NAME holds the commit.
  bool WriteRef(const std::string& name, const std::string& commit, Reason* reason) const;

  /// The same by its size alone, which takes no time.
  bool MayHaveBlob(const HubFile& file) const;

  /// Bytes on the disk of what an earlier download of a blob left to go on with.
  uint64_t PartialBytes(const HubFile& file) const;

  /// Bytes that are free where blobs lie; nothing where that is not known.
  std::optional<uint64_t> FreeBytes() const;

 private:
  CacheWriter() = default;
  Descriptor OpenBlob(const HubFile& file) const;
  bool LinkNewBuild(const Descriptor& snapshot, const std::string& build,
                    const std::vector<HubFile>& files, bool* done, Reason* reason) const;
  bool LinkOne(const Descriptor& snapshot, const HubFile& file, Reason* reason) const;
  Descriptor root_, repo_, blobs_, locks_;
};

/// Whether a descriptor's content is what `file` says, size and digest.
bool HasContent(const Descriptor& descriptor, const HubFile& file);

}  // namespace kernelmap
