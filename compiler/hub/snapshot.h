// The files of a commit: which builds they make up, and which of them a cache has already.
#pragma once

#include <string>
#include <vector>

#include "compiler/hub/api.h"

namespace kernelmap {

/// What Python leaves behind, and no build has.
bool IsByteCode(const std::string& path);

/// The names of the builds that a commit has, in normal form, sorted. `tree` is sorted by path.
std::vector<std::string> BuildNames(const std::vector<HubFile>& tree);

/// The file at a path; null where there is none.
const HubFile* FindFile(const std::vector<HubFile>& tree, const std::string& path);

/// Which of a snapshot's files are there, whole: sizes and digests are checked.
std::vector<bool> PresentFiles(const std::string& cache, const std::string& repo,
                               const std::string& commit, const std::vector<HubFile>& files);

/// Whether a download of the repository left something half done that has not come since: then a
/// snapshot may lack files.
bool HasPartials(const std::string& cache, const std::string& repo);

}  // namespace kernelmap
