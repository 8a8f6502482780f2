#include "cli/commands.h"

#include <cstdio>
#include <limits>

#include "cli/model_commands.h"
#include "cli/output.h"
#include "compiler/archive/sites.h"
#include "compiler/compile.h"

#ifndef KM_VERSION
#error "KM_VERSION is the version of this program"
#endif

namespace kernelmap {

const char* Version() { return KM_VERSION; }

int RunCheck(const Args& args) {
  std::vector<Diagnostic> all;
  size_t errors = 0, warnings = 0;
  int unreadable = 0;
  for (const std::string& path : args.inputs) {
    std::string error;
    const std::optional<Loaded> loaded = LoadConfig(path, &error);
    if (!loaded) {  // the others are still worth reading
      unreadable = UsageError(error);
      continue;
    }
    all.insert(all.end(), loaded->diagnostics.begin(), loaded->diagnostics.end());
    errors += loaded->errors;
    warnings += loaded->warnings;
  }
  if (args.format == "json") {
    if (const int code = WriteResult(args.output, DiagnosticsToJson(all))) return code;
  } else {
    PrintDiagnostics(all);
    std::string summary;
    if (errors + warnings > 0) {
      summary = std::to_string(errors) + (errors == 1 ? " error, " : " errors, ") +
                std::to_string(warnings) + (warnings == 1 ? " warning\n" : " warnings\n");
    }
    if (const int code = WriteResult(args.output, summary)) return code;
  }
  if (unreadable) return unreadable;
  return errors > 0 || (args.strict && warnings > 0) ? 1 : 0;
}

int RunPlan(const Args& args) {
  std::optional<std::string> config;
  if (!args.inputs.empty()) config = args.inputs.front();
  Compiled compiled = CompilePlan(config, args.target);
  PrintDiagnostics(compiled.diagnostics);
  if (!compiled.error.empty()) UsageError(compiled.error);
  if (!compiled.plan) return compiled.exit_code;
  if (args.model) {
    if (const int code = AddSitesOfModel(*args.model, &*compiled.plan)) return code;
  }
  const Plan& plan = *compiled.plan;
  if (args.format == "json") return WriteResult(args.output, PlanToJson(plan));
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
       "check CONFIG… [--format text|json] [--strict] [-o FILE]",
       "every error and warning of the configs",
       1,
       kMany,
       {Option::kFormat, Option::kOutput, Option::kStrict},
       RunCheck},
      {"plan",
       "plan [CONFIG] [--model MODEL [--prove]] [--device D] [--capability C] [--mode M] "
       "[--torch V] [--format text|json] [-o FILE]",
       "which kernel stands for each name, for a target",
       0,
       1,
       {Option::kTarget, Option::kModel, Option::kProve, Option::kFormat, Option::kOutput},
       RunPlan},
      {"apply",
       "apply [CONFIG] MODEL -o OUT [--report FILE] [--verify] [--strict]",
       "rewrite a TorchScript archive, with a report",
       0,
       kMany,
       {},
       nullptr},
      {"verify",
       "verify MODEL OUT [--inputs FILE] [--device D]",
       "run both on the same inputs and compare the outputs",
       0,
       kMany,
       {},
       nullptr},
      {"bench",
       "bench MODEL OUT",
       "run both, interleaved, and compare the times",
       0,
       kMany,
       {},
       nullptr},
      {"inspect",
       "inspect MODEL [--format text|json] [-o FILE]",
       "the module tree of an archive",
       1,
       1,
       {Option::kFormat, Option::kOutput},
       RunInspect},
      {"explain",
       "explain CODE · explain [CONFIG] NAME [--device D] …",
       "a diagnostic or reason at length · why a name got this kernel or none",
       1,
       2,
       {Option::kTarget, Option::kOutput},
       RunExplain},
  };
  return commands;
}

}  // namespace kernelmap
