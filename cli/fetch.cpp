// kernelmap fetch: downloads what a config can choose into the Hugging Face cache.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/targets.h"
#include "compiler/hub/cache_folder.h"
#include "compiler/hub/fetch_config.h"
#include "compiler/lock.h"
#include "compiler/store/cache_path.h"

namespace kernelmap {
namespace {

void ShowOnTerminal(const Progress& progress) {
  std::fprintf(stderr, "\r\x1b[K%zu of %zu files, %.1f of %.1f MB",
               static_cast<size_t>(progress.files), static_cast<size_t>(progress.all_files),
               static_cast<double>(progress.bytes) / 1e6,
               static_cast<double>(progress.all_bytes) / 1e6);
}

// Errors where what is found differs from the lock.
void CompareFound(const FetchReport& report, const Lock& lock,
                  std::vector<Diagnostic>* diagnostics) {
  Diagnostics differences(lock.source);
  for (size_t i = 0; i < report.targets.size(); ++i) {
    std::vector<LockedKernel> found;
    for (const LockedKernel& kernel : report.found) {
      LockedKernel one = kernel;
      std::erase_if(one.builds, [&](const LockedBuild& build) {
        return std::find(build.targets.begin(), build.targets.end(), i) == build.targets.end();
      });
      if (!one.builds.empty() || !one.reason.empty()) found.push_back(std::move(one));
    }
    CompareWithLock(found, report.targets[i], lock, &differences);
  }
  differences.Finish();
  diagnostics->insert(diagnostics->end(), differences.list().begin(), differences.list().end());
}

bool HasErrors(const std::vector<Diagnostic>& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.kind->severity == Severity::kError) return true;
  }
  return false;
}

}  // namespace

int RunFetch(const Args& args) {
  const std::string& path = args.inputs.front();
  std::vector<Diagnostic> diagnostics;
  std::string error;
  const std::optional<Environment> environment = ReadEnvironment(&diagnostics, &error);
  if (!environment) {
    PrintDiagnostics(diagnostics);
    return error.empty() ? 2 : UsageError(error);
  }
  const std::optional<Loaded> loaded = LoadConfig(path, &error, &*environment);
  if (!loaded) return UsageError(error);
  diagnostics.insert(diagnostics.end(), loaded->diagnostics.begin(), loaded->diagnostics.end());
  if (loaded->errors > 0) {
    PrintDiagnostics(diagnostics);
    return 1;
  }
  FetchOptions options;
  const auto targets = TargetsOf(args, *loaded->config, &diagnostics);
  if (!targets) {
    PrintDiagnostics(diagnostics);
    return 2;
  }
  options.targets = *targets;
  if (args.target.mode) options.mode = targets->front().mode;
  options.all_builds = args.all_variants;
  std::optional<Lock> lock;
  if (args.locked) {
    lock = LoadLock(path, args.lock_file, &diagnostics, &error);
    if (!lock) {
      PrintDiagnostics(diagnostics);
      return error.empty() ? 1 : UsageError(error);
    }
    options.lock = &*lock;
  }
  std::optional<HubSettings> settings =
      ReadHubSettings([](const char* name) { return std::getenv(name); }, &error);
  if (!settings) return UsageError(error);
  const std::string& cache = environment->kernel_cache;
  if (cache.empty()) return UsageError(std::string(kNoHome) + "\nhelp: " + kNoHomeHelp);
  if (const std::string problem = settings->offline ? "" : CacheProblem(cache); !problem.empty()) {
    return UsageError("the folder of the cache, `" + cache + "`, " + problem +
                      "\nhelp: HF_HUB_CACHE, HF_HOME or KERNELS_CACHE says where it is");
  }
  settings->user_agent = std::string("kernelmap/") + Version();
  const bool terminal = isatty(STDERR_FILENO) == 1;
  if (terminal) options.show = ShowOnTerminal;
  const FetchReport report = FetchForConfig(*loaded->config, *environment, *settings, options);
  if (terminal) std::fputs("\r\x1b[K", stderr);

  Diagnostics failures(loaded->config->source);
  ReportNotFetched(*loaded->config, report, &failures);
  failures.Finish();
  diagnostics.insert(diagnostics.end(), failures.list().begin(), failures.list().end());
  if (lock) CompareFound(report, *lock, &diagnostics);
  PrintDiagnostics(diagnostics);
  const std::string text = args.format == "json" ? FetchToJson(report) : FetchToText(report);
  if (const int code = WriteResult(args.output, text)) return code;
  const int code = FetchExitCode(report);
  return code == 0 && HasErrors(diagnostics) ? 1 : code;
}

}  // namespace kernelmap
