#include "cli/commands.h"

#include <cstdio>
#include <limits>

#include "cli/model_commands.h"
#include "cli/output.h"
#include "cli/rewriter_commands.h"
#include "compiler/archive/sites.h"
#include "compiler/compile.h"
#include "compiler/html/html.h"
#include "compiler/torch_build.h"

#ifndef KM_VERSION
#error "KM_VERSION is the version of this program"
#endif

namespace kernelmap {

const char* Version() { return KM_VERSION; }

std::string VersionText() {
  return std::string("kernelmap ") + Version() + "\nbuilt with torch " +
         std::string(BuiltTorchVersion()) + " for " + std::string(BuiltTorchDevice()) +
         "; " KM_BUILD "\n";
}

int RunPlan(const Args& args) {
  std::optional<std::string> config;
  if (!args.inputs.empty()) config = args.inputs.front();
  Compiled compiled = CompilePlan(config, args.target, args.locked, args.lock_file);
  PrintDiagnostics(compiled.diagnostics);
  if (!compiled.error.empty()) UsageError(compiled.error);
  if (!compiled.plan) return compiled.exit_code;
  if (args.model) {
    if (const int code = AddSitesOfModel(*args.model, &compiled)) return code;
  }
  const Plan& plan = *compiled.plan;
  if (args.format == "json") return WriteResult(args.output, PlanToJson(plan));
  if (args.format == "html") return WriteResult(args.output, PlanToHtml(plan));
  return WriteResult(args.output, PlanToText(plan) + (args.model ? UnprovedNote(plan) : ""));
}

int RunInspect(const Args& args) {
  InspectOptions options;
  options.model = args.inputs.front();
  options.json = args.format == "json";
  options.output = args.output;
  return Inspect(options);
}

const std::vector<Command>& Commands() {
  constexpr size_t kMany = std::numeric_limits<size_t>::max();
  static const std::vector<Command> commands = {
      {"check",
       "check CONFIG… [--model MODEL] [--locked | --lock FILE] [--strict] [--format "
       "text|json|sarif|github] "
       "[-o FILE]",
       "every error and warning of the configs",
       1,
       kMany,
       {Option::kModel, Option::kLocked, Option::kStrict, Option::kCheckFormat, Option::kOutput},
       RunCheck},
      {"plan",
       "plan [CONFIG] [--model MODEL [--prove]] [--device D] [--capability C] [--mode M] "
       "[--torch V] [--locked | --lock FILE] [--format text|json|html] [-o FILE]",
       "which kernel stands for each name, for a target",
       0,
       1,
       {Option::kTarget, Option::kModel, Option::kProve, Option::kPageFormat, Option::kOutput,
        Option::kLocked},
       RunPlan},
      {"apply", ApplyCommand().usage, ApplyCommand().help, 0, kMany, ApplyCommand().options,
       nullptr},
      {"diff",
       "diff OLD NEW [--model MODEL] [--target DEVICE[:CAPABILITY][:MODE]]… [--exit-code] "
       "[--fail-on fallback|trust]… [--format text|markdown|html|json] [-o FILE]",
       "what two configs, plans or reports make differ: trust, names, sites, kernels, reasons",
       1,
       9,
       {Option::kDiff, Option::kModel, Option::kTarget, Option::kOutput},
       RunDiff},
      {"report",
       "report FILE [--verified FILE] [--format text|markdown|html|json] [-o FILE]",
       "a report or plan that was written as JSON, for people; html: a page by itself",
       1,
       1,
       {Option::kReportFormat, Option::kOutput},
       RunReport},
      {"verify", VerifyCommand().usage, VerifyCommand().help, 0, kMany, VerifyCommand().options,
       nullptr},
      {"bench", BenchCommand().usage, BenchCommand().help, 0, kMany, BenchCommand().options,
       nullptr},
      {"inspect",
       "inspect MODEL [--format text|json] [-o FILE]",
       "the module tree of an archive",
       1,
       1,
       {Option::kFormat, Option::kOutput},
       RunInspect},
      {"explain",
       "explain CODE · explain [CONFIG] NAME|PATH [--model MODEL] [--device D] …",
       "a diagnostic or reason at length · why a name or module got this kernel or none",
       1,
       2,
       {Option::kModel, Option::kTarget, Option::kOutput},
       RunExplain},
      {"kernels",
       "kernels list · kernels info REPO[@REV]|FOLDER · kernels check REPO[@REV]|FOLDER "
       "[--device D] … [--format text|json] [-o FILE]",
       "what the store has, and for which targets",
       1,
       2,
       {Option::kTarget, Option::kFormat, Option::kOutput},
       RunKernels},
      {"lock",
       "lock CONFIG [--target DEVICE[:CAPABILITY]]… [--torch V] [--cuda V] [--strict] [-o FILE]",
       "write kernelmap.lock: commit and content of every kernel that a config can choose",
       1,
       1,
       {Option::kLock, Option::kStrict},
       RunLock},
      {"fetch",
       "fetch CONFIG [--target DEVICE[:CAPABILITY]]… [--device D] … [--all-variants] [--locked | "
       "--lock FILE] "
       "[--format text|json] [-o FILE]",
       "download the kernels that a config can choose from the Hugging Face Hub",
       1,
       1,
       {Option::kFetch, Option::kTarget, Option::kLocked, Option::kFormat, Option::kOutput},
       RunFetch},
      {"init",
       "init [--model MODEL] [--from CONFIG.json] [--device D] … [-o FILE] [--force]",
       "write a first config: from a model's classes, or from a Python KernelConfig",
       0,
       0,
       {Option::kModel, Option::kInit, Option::kTarget, Option::kOutput},
       RunInit},
      {"fmt",
       "fmt FILE… [--check] [--diff]",
       "format configs in TOML; comments stay",
       1,
       kMany,
       {Option::kFmt},
       RunFmt},
      {"completions",
       "completions bash|zsh|fish [-o FILE]",
       "what makes a shell complete kernelmap's commands and options",
       1,
       1,
       {Option::kOutput},
       RunCompletions},
      {"man", "man [-o FILE]", "the manual page", 0, 0, {Option::kOutput}, RunMan},
      {"doctor",
       "doctor [CONFIG] [--format text|json] [-o FILE]",
       "what is found on this machine, and what keeps kernels from loading",
       0,
       1,
       {Option::kFormat, Option::kOutput},
       RunDoctor},
  };
  return commands;
}

}  // namespace kernelmap
