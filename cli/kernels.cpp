// kernelmap kernels list|info|check: what the store has.
#include <sys/stat.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/output.h"
#include "compiler/compile.h"
#include "compiler/display.h"
#include "compiler/languages.h"
#include "compiler/store/cache.h"
#include "compiler/store/cache_path.h"
#include "compiler/store/survey.h"
#include "compiler/suggest.h"

namespace kernelmap {
namespace {

int NoHome() { return UsageError(std::string(kNoHome) + "\nhelp: " + kNoHomeHelp); }

int List(const Args& args, const std::string& cache, const Target& target,
         const SurveyRequest& request) {
  FolderError error = FolderError::kNone;
  std::vector<RepositoryInfo> repositories;
  for (const std::string& name : CachedRepositories(cache, &error)) {
    KernelRef ref;
    ref.repo = name;
    Reason reason;
    if (auto info = SurveyCached(cache, ref, request, &reason)) {
      repositories.push_back(std::move(*info));
    }
  }
  if (args.format == "json") return WriteResult(args.output, SurveyToJson(repositories, target));
  return WriteResult(args.output, SurveyToList(repositories, target));
}

// A repository of the Hub, `org/name` or `org/name@revision`, or else a folder.
std::optional<RepositoryInfo> Survey(const std::string& text, const std::string& cache,
                                     const SurveyRequest& request, int* exit_code) {
  Reason reason;
  struct stat status {};
  const bool folder = stat(text.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  std::optional<RepositoryInfo> info;
  if (folder || text.starts_with('/') || text.starts_with('.')) {
    info = SurveyFolder(text, request, &reason);
  } else {
    Diagnostics diagnostics(std::make_shared<Source>("REPOSITORY", text));
    const auto ref = ParseKernelRef(SubText::OfSource(*diagnostics.source()), &diagnostics);
    if (!ref) {
      PrintDiagnostics(diagnostics.list());
      *exit_code = 2;
      return std::nullopt;
    }
    if (cache.empty()) return *exit_code = NoHome(), std::nullopt;
    info = SurveyCached(cache, *ref, request, &reason);
  }
  if (!info) *exit_code = UsageError(reason.text);
  return info;
}

}  // namespace

int RunKernels(const Args& args) {
  static const std::vector<std::string> actions = {"list", "info", "check"};
  const std::string& action = args.inputs[0];
  const bool list = action == "list";
  if (!list && action != "info" && action != "check") {
    const std::string help = DidYouMean(action, actions);
    return UsageError("`kernels` has no action `" + action + "`\nhelp: " +
                      (help.empty() ? "kernels list, kernels info, kernels check" : help));
  }
  if (list != (args.inputs.size() == 1)) {
    return UsageError(list ? "`kernels list` takes nothing more"
                           : "`kernels " + action + "` takes a repository or a folder");
  }
  std::vector<Diagnostic> diagnostics;
  const std::optional<Target> target = ResolveTarget(args.target, nullptr, &diagnostics);
  PrintDiagnostics(diagnostics);
  if (!target) return 2;
  SurveyRequest request;
  request.system = SystemOf(*target);
  request.capability = target->capability;
  const std::string cache =
      CacheFolder([](const char* name) { return std::getenv(name); }).value_or("");
  if (list && cache.empty()) return NoHome();
  if (list) return List(args, cache, *target, request);
  request.depth = action == "check" ? SurveyDepth::kAll : SurveyDepth::kChosen;
  int exit_code = 0;
  const std::optional<RepositoryInfo> info = Survey(args.inputs[1], cache, request, &exit_code);
  if (!info) return exit_code;
  const std::vector<std::string> problems = SurveyProblems(*info);
  std::string text;
  if (args.format == "json") {
    text = SurveyToJson({*info}, *target);
  } else if (action == "info") {
    text = SurveyToText(*info, *target);
  } else {
    for (const std::string& problem : problems) text += Printable(problem) + "\n";
    size_t builds = 0;
    for (const CommitInfo& commit : info->commits) builds += commit.builds.size();
    text += std::to_string(builds) + (builds == 1 ? " build, " : " builds, ") +
            std::to_string(problems.size()) + (problems.size() == 1 ? " problem\n" : " problems\n");
  }
  if (const int code = WriteResult(args.output, text)) return code;
  return action == "check" && !problems.empty() ? 1 : 0;
}

}  // namespace kernelmap
