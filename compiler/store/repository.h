// A kernel repository as it lies on disk, in a Hugging Face cache or in a folder: which commit and
// which build variant a request means, and the variant's files, all read and hashed.
//
// Everything on disk is untrusted: nothing is read outside the repository's own folder, and sizes,
// counts and depths are bounded.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/languages.h"
#include "compiler/plan.h"
#include "compiler/store/folder.h"
#include "compiler/store/metadata.h"
#include "compiler/store/variant.h"

namespace kernelmap {

/// Ends the reason where something is not in the cache.
constexpr const char* kFetchHint = "; `kernelmap fetch CONFIG` downloads it";

struct RepositoryFile {
  std::string path;  // within the variant: "layers/__init__.py"
  uint64_t size = 0;
  std::string sha256;
};

struct FoundRepository {
  std::string folder;          // absolute: "…/hub/kernels--org--name", or the local folder
  std::string variant_folder;  // within `folder`: "snapshots/COMMIT/build/VARIANT"; "" when the
                               // folder is the variant itself
  std::string repo;            // "org/name", after redirects; "" of a local one
  std::string commit;          // "" of a local one
  std::string variant;         // "torch213-cxx11-cpu-x86_64-linux"
  std::string digest;          // "sha256-…" of `files`: their paths and contents, nothing else
  Metadata metadata;
  std::vector<RepositoryFile> files;  // sorted by path; no byte code of Python
  std::string library;                // path of the shared library within the variant
  std::string layers;                 // text of layers.py or layers/__init__.py; "" when neither
  std::string binding;                // text of kernelmap.toml, see compiler/binding.h; mostly ""
};

/// What is wanted.
struct RepositoryRequest {
  std::string cache;     // the folder of a Hugging Face cache; unused where `folder` is set
  std::string repo;      // "org/name"
  std::string revision;  // tag, branch, full commit, "v3", or the specifiers' text
  std::vector<Comparison> comparisons;  // of specifiers; empty: `revision` is a ref
  std::string folder;  // a local kernel instead: its repository, build/ or a variant in it
  std::string label;   // how messages call it
  /// With a lock: the repository that redirects end at, and its commit, which counts where it is
  /// there, whatever `revision` means by now; "" without one.
  std::string locked_repo = {}, locked_commit = {};
  std::string fetch_hint = kFetchHint;  // what messages say of a kernel that is not there
  System system;
  std::optional<Capability> capability;  // of the target, where it has one
  /// Why the publisher of another repository, which this one leads to, is not trusted; empty when
  /// it is. Without it no redirect is followed.
  std::function<std::string(const std::string& repo)> distrust;
};

struct RepositoryAnswer {
  std::optional<FoundRepository> found;
  std::optional<Reason> reason;  // when there is none
  std::vector<TraceStep> steps;  // what was looked at, in order
  bool listed = false;  // the build has all files that its metadata.json lists, and no other
};

/// Finds the repository, follows its redirects, chooses the variant, reads metadata.json, hashes
/// every file and compares with the digests that the metadata lists. A variant without a shared
/// library is `python_only`.
RepositoryAnswer FindRepository(const RepositoryRequest& request);

/// The folders at `path` whose names are those of build variants, in normal form, sorted: the
/// Python library looks for no other.
std::vector<std::string> VariantNames(const Folder& folder, const std::string& path);

/// A descriptor of a private copy, in memory and sealed, of one file of a repository that was
/// found, whose content has the SHA-256 it had then. The caller closes it, and may load
/// "/proc/self/fd/N". -1 and a message where the file is not what it was.
int OpenChecked(const FoundRepository& repository, const std::string& path, std::string* error);

}  // namespace kernelmap
