// The files of one build variant: read, hashed, and compared with the digests that its metadata
// lists.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/plan.h"
#include "compiler/store/folder.h"
#include "compiler/store/metadata.h"
#include "compiler/store/repository.h"

namespace kernelmap {

struct VariantContent {
  std::vector<RepositoryFile> files;  // sorted by path; no byte code of Python
  std::string digest;                 // "sha256-…" of all of it
  std::string library;                // "" when there is none
  bool listed = false;                // whether the metadata lists digests
};

/// Reads and checks the variant in `folder` at `path`. Else the reason: `unsafe_path`,
/// `too_many_files`, `incomplete`, `truncated`, `tampered`, or `bad_metadata` where several shared
/// libraries are there and none is named after the build, or the library is for another machine than
/// the build's name says.
std::optional<VariantContent> ReadContent(const Folder& folder, const std::string& path,
                                          const Metadata& metadata, Reason* reason);

/// The digest of a list of files: of their paths and hashes, in order.
std::string DigestOf(const std::vector<RepositoryFile>& files);

}  // namespace kernelmap
