// The Hugging Face cache on this machine: the repositories in it, and the refs of one.
// A repository lies in `kernels--org--name`, or in `models--org--name` as older versions of the
// Python library have it; where both are there they are read as one, the newer first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/languages.h"
#include "compiler/plan.h"
#include "compiler/store/folder.h"

namespace kernelmap {

/// The repositories "org/name" of a cache, sorted, each once; those of `models--` only where they
/// have a build/ in some snapshot.
std::vector<std::string> CachedRepositories(const std::string& cache, FolderError* error);

/// The folders of a repository; none when it is not there.
std::vector<Folder> OpenRepository(const std::string& cache, const std::string& repo);

struct CachedRef {
  std::string name;
  std::string commit;    // "" where the ref does not hold one
  bool present = false;  // whether there is a snapshot of it
};

/// The refs of a repository, sorted by name, each once.
std::vector<CachedRef> CachedRefs(const std::vector<Folder>& repository);

/// A commit and where its snapshot lies.
struct CachedCommit {
  std::string commit;
  const Folder* folder = nullptr;  // of those given, whose snapshots/COMMIT it is
};

/// The commit that a revision means, as FindRepository's request has it: a ref, a full commit, or
/// the first 7 digits or more of one that is there. Else the reason: `not_found` or `bad_ref`.
std::optional<CachedCommit> FindCommit(const std::vector<Folder>& repository,
                                       const std::string& revision,
                                       const std::vector<Comparison>& comparisons,
                                       const std::string& label, Reason* reason);

/// The snapshot of a commit, whatever refs say; nothing where it is not there.
std::optional<CachedCommit> FindSnapshot(const std::vector<Folder>& repository,
                                         const std::string& commit);

/// The place in `names` of the ref that a revision means: the highest version that satisfies
/// `comparisons`, where there are any; the ref of that name; `v3` in another spelling.
std::optional<size_t> PickRef(const std::vector<std::string>& names, const std::string& revision,
                              const std::vector<Comparison>& comparisons);

/// Whether a text is a full commit: 40 lower-case hexadecimal digits.
bool IsCommit(std::string_view text);

}  // namespace kernelmap
