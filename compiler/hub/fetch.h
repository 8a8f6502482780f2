// Fetches kernels from the Hub into the Hugging Face cache: what a revision means, where the
// repository redirects to, the build for a system, and the kernels that it needs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/hub/download.h"
#include "compiler/hub/settings.h"
#include "compiler/store/repository.h"

namespace kernelmap {

struct FetchedFile {
  std::string path;
  uint64_t bytes = 0;
  bool fetched = false;  // now; else it was there
};

/// What was done about one revision of one repository, for one system.
struct FetchedRepository {
  enum class Status { kFetched, kPresent, kFailed, kSkipped };

  std::string repo, revision;
  std::string commit;               // "" where it is not known
  std::vector<std::string> builds;  // sorted
  std::string redirect;             // "org/name@revision" that it leads to; "" when to nowhere
  std::string needed_by;            // the repository that depends on it, or leads to it
  Status status = Status::kFailed;
  std::vector<FetchedFile> files;  // sorted by path
  std::optional<Reason> reason;    // why there is nothing, or why what there is cannot be used
  bool wanted = true;              // that it does not come is an error
  bool own = false;                // the config itself names it
};

struct FetchRequest {
  RepositoryRequest what;  // `cache`, `repo`, `revision`, `system`, `locked_commit`, ...
};

struct FetchState;

class Fetcher {
 public:
  /// `all_builds`: every build of each repository, whatever it is for.
  Fetcher(const HubSettings& settings, bool all_builds, ShowProgress show);

  /// Fetches one kernel. Its repository comes first in what is returned, then where it leads to and
  /// what it needs. What was fetched before is not asked for again.
  std::vector<FetchedRepository> Fetch(const FetchRequest& request);

 private:
  std::shared_ptr<FetchState> state_;
};

}  // namespace kernelmap
