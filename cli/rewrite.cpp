// kernelmap-rewrite COMMAND …: the commands that need libtorch. `kernelmap` runs this program for
// them, so that everything else starts without it.
#include <cstdio>
#include <string>
#include <vector>

#include "cli/args.h"
#include "cli/output.h"
#include "cli/rewriter_commands.h"
#include "compiler/archive/check_model.h"
#include "compiler/archive/file.h"
#include "compiler/display.h"
#include "compiler/html/html.h"
#include "compiler/words.h"
#include "rewriter/apply.h"
#include "rewriter/bench.h"
#include "rewriter/used_kernels.h"
#include "rewriter/verify.h"

namespace kernelmap {
namespace {

int PrintError(const ApplyError& error) {
  const std::string code = error.code.empty() ? "" : "[" + error.code + "]";
  std::fprintf(stderr, "%s: error%s: %s\n", Printable(error.file).c_str(), code.c_str(),
               PrintableLines(error.message).c_str());
  return error.usage ? 2 : 1;
}

bool AnyFallback(const Report& report) {
  for (const Site& site : report.sites) {
    if (site.action == Action::kFallback) return true;
  }
  return false;
}

std::string MakeEscaped(const std::string& path) {
  std::string out;
  for (const char c : path) {
    if (c == ' ' || c == '#' || c == '\\') out += '\\';
    if (c == '$') out += '$';
    out += c;
  }
  return out;
}

Compiled ReadPlan(const std::optional<std::string>& config, const Args& args,
                  const std::string& model) {
  Compiled compiled = CompilePlan(config, args.target, args.locked, args.lock_file);
  PrintDiagnostics(compiled.diagnostics);
  if (!compiled.error.empty()) UsageError(compiled.error);
  // A broken archive is reported where it is read for good.
  if (const auto archive = Archive::Open(model); archive && compiled.plan && compiled.config) {
    if (const auto tree = ReadModuleTree(*archive)) {
      PrintDiagnostics(ModelPathFindings(*compiled.config, *tree, model));
    }
  }
  return compiled;
}

// What the guard runs is never run in silence.
void PrintModulesRun(const Applied& applied) {
  if (applied.modules_run == 0) return;
  std::fprintf(stderr,
               "kernelmap: note: guard = \"numeric\" ran the code of %s of the archive on sample "
               "inputs\n",
               CountOf(static_cast<size_t>(applied.modules_run), "module").c_str());
}

// An archive that the same plan made already goes out as it is.
int WriteArchive(const Applied& applied, const std::string& model, const std::string& output) {
  if (!applied.already_applied) return WriteResult(output, applied.archive, /*final=*/true);
  std::fputs("already rewritten by this plan: nothing changes\n", stderr);
  const auto file = InputFile::Open(model);
  if (!file) return PrintError({model, Describe(file.error()), true, "KM0801"});
  const auto bytes = file->Read(0, file->size());
  if (!bytes) return PrintError({model, Describe(bytes.error()), true, "KM0801"});
  return WriteResult(output, *bytes, /*final=*/true);
}

// The rewritten archive against the model, before it gets its name. Exit code, 0 where they agree.
int VerifyBytes(const Args& args, const Plan& plan, const std::string& model,
                const std::string& archive) {
  const TemporaryFile file("rewritten", ".pt", archive);
  if (file.exit_code() != 0) return file.exit_code();
  VerifyOptions options;
  options.inputs = args.inputs_file;
  options.kernels = TrustOf(plan);
  VerifyOutcome outcome = Verify(model, file.path(), options);
  if (outcome.error) {
    if (outcome.error->file == file.path()) outcome.error->file = args.output;
    return PrintError(*outcome.error);
  }
  outcome.result->out_file = BaseName(args.output);
  const std::string text = VerifyToText(*outcome.result);
  if (outcome.result->ok) {  // a line for people; the report goes to standard output
    std::fputs(("verified: " + text.substr(0, text.find('\n') + 1)).c_str(), stderr);
    return 0;
  }
  std::fputs(text.c_str(), stderr);
  std::fputs("kernelmap: error: the rewritten model differs, so OUT is not written\n", stderr);
  return 1;
}

int RunApply(const Args& args) {
  const bool has_config = args.inputs.size() == 2;
  const std::string& model = args.inputs.back();
  if (args.output == "-") return UsageError("apply needs -o OUT");
  int exit_code = 0;
  std::optional<std::string> config;
  if (has_config) config = args.inputs.front();
  const Compiled compiled = ReadPlan(config, args, model);
  const std::optional<Plan>& plan = compiled.plan;
  if (!plan) return compiled.exit_code;
  ApplyOptions options;
  options.run_archive_code = args.run_archive_code;
  const ApplyResult result = Apply(*plan, model, options);
  if (result.error) return PrintError(*result.error);
  const Applied& applied = *result.applied;
  PrintModulesRun(applied);
  const std::string json = ReportToJson(applied.report);
  if (args.report) exit_code = WriteResult(*args.report, json);
  const bool refuse = (args.strict || plan->error_on_fallback) && AnyFallback(applied.report);
  if (refuse) {
    std::fputs("kernelmap: error: a site is a fallback, so OUT is not written\n", stderr);
    if (exit_code == 0) exit_code = 1;
  } else if (const int different = args.verify && !applied.already_applied
                                       ? VerifyBytes(args, *plan, model, applied.archive)
                                       : 0) {
    exit_code = different;
  } else if (const int code = WriteArchive(applied, model, args.output)) {
    exit_code = code;
  } else if (args.depfile) {
    std::string rule = MakeEscaped(args.output) + ":";
    std::vector<std::string> inputs = args.inputs;
    if (!compiled.lock_file.empty()) inputs.push_back(compiled.lock_file);
    for (const std::string& input : inputs) rule += " " + MakeEscaped(input);
    if (const int depfile_code = WriteResult(*args.depfile, rule + "\n")) exit_code = depfile_code;
  }
  const int code = WriteResult("-", args.format == "json"   ? json
                                    : args.format == "html" ? ReportToHtml(applied.report)
                                                            : ReportToText(applied.report));
  return exit_code ? exit_code : code;
}

int RunProve(const Args& args) {
  std::optional<std::string> config;
  if (!args.inputs.empty()) config = args.inputs.front();
  Compiled compiled = ReadPlan(config, args, args.model.value_or(""));
  std::optional<Plan>& plan = compiled.plan;
  if (!plan) return compiled.exit_code;
  if (!args.model) return UsageError("--prove needs --model");
  const ApplyResult result = Apply(*plan, *args.model, {}, /*decide_only=*/true);
  if (result.error) return PrintError(*result.error);
  PrintModulesRun(*result.applied);
  plan->sites = result.applied->report.sites;
  plan->has_sites = true;
  return WriteResult(args.output, args.format == "json"   ? PlanToJson(*plan)
                                  : args.format == "html" ? PlanToHtml(*plan)
                                                          : PlanToText(*plan));
}

// Exit code, 0 where all are archives.
int CheckArchives(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (const auto error = CheckArchive(path)) return PrintError(*error);
  }
  return 0;
}

int RunVerify(const Args& args) {
  if (const int code = CheckArchives(args.inputs)) return code;
  VerifyOptions options;
  options.inputs = args.inputs_file;
  options.kernels = args.kernels;
  if (args.target.device) options.device = *args.target.device;
  const VerifyOutcome outcome = Verify(args.inputs[0], args.inputs[1], options);
  if (outcome.error) return PrintError(*outcome.error);
  const VerifyResult& result = *outcome.result;
  const int code =
      WriteResult(args.output, args.format == "json" ? VerifyToJson(result)
                                                     : PrintableLines(VerifyToText(result)));
  return code ? code : result.ok ? 0 : 1;
}

int RunBench(const Args& args) {
  if (const int code = CheckArchives(args.inputs)) return code;
  BenchOptions options;
  options.inputs = args.inputs_file;
  options.runs = args.runs;
  options.kernels = args.kernels;
  const BenchOutcome outcome = Bench(args.inputs[0], args.inputs[1], options);
  if (outcome.error) return PrintError(*outcome.error);
  return WriteResult(args.output, args.format == "json"
                                      ? BenchToJson(*outcome.result)
                                      : PrintableLines(BenchToText(*outcome.result)));
}

const std::vector<Command>& RewriteCommands() {
  static const std::vector<Command> commands = {
      {"apply", ApplyCommand().usage, ApplyCommand().help, 1, 2, ApplyCommand().options, RunApply},
      {"plan",
       "plan [CONFIG] --model MODEL --prove [--device D] [--locked | --lock FILE] [--format "
       "text|json|html] [-o FILE]",
       "what apply would do at each site",
       0,
       1,
       {Option::kTarget, Option::kModel, Option::kProve, Option::kLocked, Option::kPageFormat,
        Option::kOutput},
       RunProve},
      {"verify", VerifyCommand().usage, VerifyCommand().help, 2, 2, VerifyCommand().options,
       RunVerify},
      {"bench", BenchCommand().usage, BenchCommand().help, 2, 2, BenchCommand().options, RunBench},
  };
  return commands;
}

int Main(int argc, char** argv) {
  IgnoreWriteSignals();
  ExitOnInterrupt();
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (const Command& command : RewriteCommands()) {
    if (words.empty() || command.name != words[0]) continue;
    int exit_code = 0;
    const auto args = ParseArgs(command, {words.begin() + 1, words.end()}, &exit_code);
    return args ? command.run(*args) : exit_code;
  }
  return UsageError("kernelmap runs this program; its commands are those of kernelmap --help");
}

}  // namespace
}  // namespace kernelmap

int main(int argc, char** argv) { return kernelmap::Main(argc, argv); }
