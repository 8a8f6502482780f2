// What lies in the store, for people and tools: repositories, their refs and commits, and the
// builds of each commit with what they are and whether they suit a target. Plain data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/plan.h"
#include "compiler/store/cache.h"
#include "compiler/store/metadata.h"
#include "compiler/store/redirect.h"
#include "compiler/store/variant.h"

namespace kernelmap {

/// As layers.py says, or a binding over it.
struct LayerInfo {
  std::string name;
  bool has_backward = true;
  bool can_torch_compile = false;
};

/// What reading a build gave.
struct BuildDetails {
  Metadata metadata;
  std::string digest;
  bool listed = false;  // metadata.json lists digests, and they are right
  std::string library;  // "" when there is none
  std::vector<LayerInfo> layers;
};

struct BuildInfo {
  std::string variant;
  bool chosen = false;                  // for the target
  std::string why;                      // why it does not suit the target; "" when it does
  std::optional<Reason> problem;        // of a build that was read and is not as it should be
  std::optional<BuildDetails> details;  // of one that was read and is
};

struct CommitInfo {
  std::string commit;             // "" of a folder, and for refs that hold none
  std::vector<std::string> refs;  // that mean it
  bool present = false;
  std::optional<Reason> problem;  // of the commit as a whole
  std::optional<Redirect> redirect;
  std::vector<BuildInfo> builds;
  std::vector<std::string> others;  // what lies beside the builds and is none
};

struct RepositoryInfo {
  std::string name;  // "org/name", or the base name of a folder
  bool local = false;
  std::vector<CommitInfo> commits;  // sorted by their first ref, those without one last
};

/// Which builds are read, and not only named.
enum class SurveyDepth { kNone, kChosen, kAll };

struct SurveyRequest {
  System system;
  std::optional<Capability> capability;
  SurveyDepth depth = SurveyDepth::kNone;
};

/// A repository of the cache; with a revision (or specifiers) only the commit that it means.
/// Nothing, and a reason, where the repository or the revision is not there.
std::optional<RepositoryInfo> SurveyCached(const std::string& cache, const KernelRef& ref,
                                           const SurveyRequest& request, Reason* reason);

/// A folder with a build/, or that is one, or that is a build itself.
std::optional<RepositoryInfo> SurveyFolder(const std::string& path, const SurveyRequest& request,
                                           Reason* reason);

/// The problems there are, one a line: "REFS, VARIANT: what [code]", builds that only Python can use
/// last. Empty when all is well.
std::vector<std::string> SurveyProblems(const RepositoryInfo& repository);

/// kernelmap-kernels/1, ending in a newline.
std::string SurveyToJson(const std::vector<RepositoryInfo>& repositories, const Target& target);
/// A line a commit.
std::string SurveyToList(const std::vector<RepositoryInfo>& repositories, const Target& target);
/// Everything, of one repository.
std::string SurveyToText(const RepositoryInfo& repository, const Target& target);

}  // namespace kernelmap
