// Fetches what a config can choose, and says what came of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/hub/fetch.h"
#include "compiler/lock.h"

namespace kernelmap {

struct FetchOptions {
  std::vector<Target> targets;
  std::optional<std::string> mode;  // nothing: all modes
  bool all_builds = false;
  const Lock* lock = nullptr;  // with one, the commits that it says
  ShowProgress show;
};

struct FetchReport {
  std::vector<Target> targets;
  std::vector<FetchedRepository> repositories;  // sorted, each once
  std::vector<LockedKernel> found;              // as a lock has it, of all targets
};

/// Chooses for every target and mode as `plan` does, and fetches a kernel when its turn comes: of
/// `any`, those after the first of use are not fetched.
FetchReport FetchForConfig(const Config& config, const Environment& environment,
                           const HubSettings& settings, const FetchOptions& options);

/// Reports the config's own kernels that were not fetched or are of no use, at their places.
void ReportNotFetched(const Config& config, const FetchReport& report, Diagnostics* diagnostics);

/// Whether what came of a repository is an error: it is wanted, and of no use.
bool IsBad(const FetchedRepository& one);

/// What to do about a reason why a kernel did not come or is not asked for; "" of other words.
std::string FetchHelp(const Reason& reason);

/// 0; 1 where something that the config wants was not fetched; 2 where the cache cannot be written.
int FetchExitCode(const FetchReport& report);

/// kernelmap-fetch/1, ending in a newline.
std::string FetchToJson(const FetchReport& report);
/// A line a repository, and a summary.
std::string FetchToText(const FetchReport& report);

}  // namespace kernelmap
