// kernelmap.lock: the commit and the content of every kernel that a config can choose for some
// targets, so that others get the same or an error. JSON (schemas/lock.schema.json).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/config.h"
#include "compiler/diagnostics.h"

namespace kernelmap {

struct LockedBuild {
  std::string variant;
  std::string digest;
  std::vector<size_t> targets;  // that choose it: places in the lock's list, sorted
  Span span;                    // of the digest, in a lock that was read
};

/// One kernel as the config asks for it, and what that means.
struct LockedKernel {
  std::string kernel;               // "org/name", or a local one's path relative to the config
  std::string revision;             // "v1", ">=2.0,<3.0"; "" of a local one
  std::string repo;                 // where it is, after redirects; "" of a local one
  std::string commit;               // "" of a local one
  std::vector<LockedBuild> builds;  // of all targets, sorted
  std::string reason;               // why there are no builds for any target; "" when there are
  Span span, commit_span;           // in a lock that was read
  std::map<size_t, std::string> missing;  // targets without a build, and why; not in a file
  std::string why;                        // `reason` in a sentence; of refused kernels
};

struct Lock {
  /// The file name of the config it is for; "" for one from standard input. Nothing: not said.
  std::optional<std::string> config;
  std::vector<Target> targets;        // their modes mean nothing: a lock is for all
  std::vector<LockedKernel> kernels;  // sorted
  /// Kernels that the store was not asked for: not trusted, or turned off. Not in a file.
  std::vector<LockedKernel> refused;
  bool python = false;  // it is the Python library's kernels.lock, which knows commits alone
  std::shared_ptr<const Source> source;  // of a lock that was read
  Span span;                             // of the list of kernels
  Span config_span;                      // in a lock that was read

  /// What it says of a kernel; null where it says nothing.
  const LockedKernel* Find(const std::string& kernel, const std::string& revision) const;
};

/// What the config chooses for the targets, in any mode. `locked`: of the commits that are there
/// those that a lock says.
Lock MakeLock(const Config& config, const Environment& environment,
              const std::vector<Target>& targets, const Lock* locked = nullptr);

/// kernelmap-lock/1, ending in a newline.
std::string LockToJson(const Lock& lock);

/// A store that answers as `store` does and notes in `kernels` what was asked for and found.
/// Several answers to one question are put together. `target`: the place of the target asked for.
Store RecordingStore(const Store& store, size_t target, std::vector<LockedKernel>* kernels);

/// A store that finds the commits that the lock says where they are there, whatever branches and
/// tags mean by now. The lock has to outlive it.
Store LockedStore(const Store& store, const Lock& lock);

/// Reads a kernelmap.lock, or where the text is a list a kernels.lock of the Python library, in its
/// newer or older form. Nothing, and diagnostics, where it is neither.
std::optional<Lock> ReadLock(Diagnostics* diagnostics);

/// Reads the lock file of a config: `file`; when that is "", kernelmap.lock beside the config
/// (in the current folder without one), else kernels.lock. Nothing, and diagnostics or a message,
/// where there is none or it is broken. A warning where it is another config's.
std::optional<Lock> LoadLock(const std::optional<std::string>& config_path, const std::string& file,
                             std::vector<Diagnostic>* diagnostics, std::string* error);

/// Compares what a config without errors chooses, for the targets of its lock file (see LoadLock),
/// with that file. False, and diagnostics or a message, where they differ or the file cannot be
/// read.
bool CheckAgainstLock(const std::string& config_path, const Config& config, const std::string& file,
                      std::vector<Diagnostic>* diagnostics, std::string* error);

/// Reports every difference between what was found, for `target` alone, and the lock.
void CompareWithLock(const std::vector<LockedKernel>& found, const Target& target, const Lock& lock,
                     Diagnostics* diagnostics);

/// The same for all targets of the lock together; then what is in the lock alone differs too.
void CompareLocks(const Lock& found, const Lock& lock, Diagnostics* diagnostics);

}  // namespace kernelmap
