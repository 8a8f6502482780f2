// kernelmap diff: what two configs, plans or reports make differ.
#include "compiler/diff/diff.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/diff_command.h"
#include "cli/git.h"
#include "cli/model_commands.h"
#include "cli/output.h"
#include "cli/targets.h"
#include "compiler/archive/file.h"
#include "compiler/archive/sites.h"
#include "compiler/languages.h"

namespace kernelmap {
namespace {

bool AnyFlag(const TargetFlags& flags) {
  return flags.device || flags.capability || flags.mode || flags.torch || flags.cuda ||
         flags.rocm || flags.xpu;
}

// A config for a target.
Side Resolved(const Operand& operand, const Target& target, const Environment& environment,
              const ModuleTree* tree) {
  Plan plan = Resolve(operand.config ? &*operand.config : nullptr, target, environment,
                      DefaultStore(environment.kernel_cache));
  if (tree) AddModelSites(*tree, &plan);
  Side side;
  side.kind = SideKind::kConfig;
  side.target = target;
  side.has_entries = true;
  side.entries = std::move(plan.entries);
  side.has_sites = tree != nullptr;
  side.sites = std::move(plan.sites);
  return side;
}

// The target of an operand: a config's own, as flags change it, or, without flags, that of the
// plan or report on the other side.
std::optional<Target> TargetOf(const Operand& operand, const Operand& other,
                               const TargetFlags& flags, bool flagged,
                               std::vector<Diagnostic>* diagnostics) {
  if (operand.kind != SideKind::kConfig) return operand.side.target;
  if (!flagged && other.side.target) return other.side.target;
  return ResolveTarget(flags, operand.config ? &*operand.config : nullptr, diagnostics);
}

// Nothing there is as what is there, without its content.
void FillNone(Side* side, const Side& other) {
  if (side->kind != SideKind::kNone) return;
  side->has_entries = other.has_entries;
  side->has_sites = other.has_sites;
}

int ReadOperandFile(const std::string& word, const Environment& environment, Operand* operand) {
  std::string error;
  OperandName name{word, word, BaseName(word)};
  std::optional<std::string> bytes;
  if (const std::optional<GitFile> file = ParseGitFile(word)) {
    bytes = ReadGitFile(*file, kReportLimits.bytes, &error);
    if (bytes) name = {PathHere(*file), word, word};
  } else {
    if (word == "-") name = {"<stdin>", "<stdin>", "<stdin>"};
    bytes = ReadFile(word, kReportLimits.bytes, &error);
  }
  if (!bytes) return UsageError(error);
  std::vector<Diagnostic> diagnostics;
  std::optional<Operand> read = ReadOperand(name, std::move(*bytes), environment, &diagnostics);
  PrintDiagnostics(diagnostics);
  if (!read) return 1;
  *operand = std::move(*read);
  return 0;
}

}  // namespace

std::optional<Diff> DiffOperands(const Args& args, Operand before, Operand after,
                                 const Environment& environment, int* exit_code) {
  const bool old_config = before.kind == SideKind::kConfig;
  const bool new_config = after.kind == SideKind::kConfig;
  const auto usage = [&](const std::string& message) {
    *exit_code = UsageError(message);
    return std::nullopt;
  };
  if (args.model && !old_config && !new_config) return usage("--model is for configs");
  if (args.targets.size() > 1 && !(old_config && new_config)) {
    return usage("several targets are for two configs: a plan or report has one");
  }
  std::optional<ModuleTree> tree;
  if (args.model && !(tree = ReadTree(*args.model, exit_code))) return std::nullopt;
  std::vector<TargetFlags> targets;
  for (const std::string& word : args.targets)
    targets.push_back(TargetFlagsOf(word, true, args.target));
  const bool flagged = !targets.empty() || AnyFlag(args.target);
  if (targets.empty()) targets.push_back(args.target);

  Diff diff;
  diff.before = {before.kind, before.label};
  diff.after = {after.kind, after.label};
  const Config* old_values = before.config ? &*before.config : nullptr;
  const Config* new_values = after.config ? &*after.config : nullptr;
  if (old_config && new_config) CompareConfigs(old_values, new_values, &diff);
  for (const TargetFlags& flags : targets) {
    std::vector<Diagnostic> diagnostics;
    const auto old_target = TargetOf(before, after, flags, flagged, &diagnostics);
    const bool fine = !old_config || old_target;
    const auto new_target =
        fine ? TargetOf(after, before, flags, flagged, &diagnostics) : std::nullopt;
    PrintDiagnostics(diagnostics);
    if (!fine || (new_config && !new_target)) {
      *exit_code = 2;
      return std::nullopt;
    }
    const ModuleTree* model = tree ? &*tree : nullptr;
    if (old_config) before.side = Resolved(before, *old_target, environment, model);
    if (new_config) after.side = Resolved(after, *new_target, environment, model);
    FillNone(&before.side, after.side);
    FillNone(&after.side, before.side);
    diff.targets.push_back(CompareSides(before.side, after.side));
    CompareTrust(before.side, after.side, &diff.trust);
  }
  if (old_config && new_config) {
    FindHiddenEntries(old_values, new_values, &diff);
  } else if (old_config != new_config && before.kind != SideKind::kNone &&
             after.kind != SideKind::kNone) {
    diff.unknown.push_back(
        {"settings", "a plan or report does not tell a config's settings, trust among them", {}});
  }
  return diff;
}

std::string RenderDiff(const Diff& diff, const std::string& format, bool color) {
  if (format == "json") return DiffToJson(diff);
  if (format == "markdown") return DiffToMarkdown(diff);
  if (format == "html") return DiffToHtml(diff);
  return DiffToText(diff, color);
}

int DiffExitCode(const Diff& diff, const Args& args) {
  bool fails = args.diff.exit_code && diff.Different();
  for (const std::string& what : args.diff.fail_on) {
    fails |= what == "fallback" ? diff.NewFallback() : diff.TrustWidened();
  }
  return fails ? 1 : 0;
}

int RunDiff(const Args& args) {
  if (args.diff.git_driver) return RunGitDriver(args);
  if (args.inputs.size() != 2) return UsageError("diff takes two operands: OLD and NEW");
  if (args.inputs[0] == "-" && args.inputs[1] == "-") {
    return UsageError("standard input can be only one of the two");
  }
  std::vector<Diagnostic> diagnostics;
  std::string error;
  const std::optional<Environment> environment = ReadEnvironment(&diagnostics, &error);
  PrintDiagnostics(diagnostics);
  if (!environment) return error.empty() ? 2 : UsageError(error);
  Operand operands[2];
  int code = 0;
  for (size_t i = 0; i < 2; ++i) {
    code = std::max(code, ReadOperandFile(args.inputs[i], *environment, &operands[i]));
  }
  if (code) return code;
  const std::optional<Diff> diff =
      DiffOperands(args, std::move(operands[0]), std::move(operands[1]), *environment, &code);
  if (!diff) return code;
  const bool color = args.output == "-" && WantsColor(STDOUT_FILENO);
  if ((code = WriteResult(args.output, RenderDiff(*diff, args.format, color)))) return code;
  return DiffExitCode(*diff, args);
}

}  // namespace kernelmap
