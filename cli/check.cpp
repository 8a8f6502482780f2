// kernelmap check: every error and warning of the configs, by themselves or with a model.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/model_commands.h"
#include "cli/output.h"
#include "compiler/archive/check_model.h"
#include "compiler/archive/file.h"
#include "compiler/compile.h"
#include "compiler/display.h"
#include "compiler/lock.h"
#include "compiler/words.h"

namespace kernelmap {
namespace {

// What was found in all configs together.
struct Findings {
  std::vector<Diagnostic> diagnostics;
  std::vector<std::string> failures;  // files that cannot be read, or are no models
  size_t errors = 0, warnings = 0;
  size_t names = 0;  // that the configs map
};

// Adds what the model says of a config.
void AddModelFindings(const ModuleTree& tree, const std::string& model, Loaded* loaded) {
  Diagnostics diagnostics(loaded->config->source);
  CheckModel(*loaded->config, tree, model, &diagnostics);
  diagnostics.Finish();
  // Where the model shows that a name is wrong, that it looks wrong need not be said.
  for (const Diagnostic& found : diagnostics.list()) {
    if (found.kind != &Diag::NameUnanswered) continue;
    loaded->warnings -= std::erase_if(loaded->diagnostics, [&](const Diagnostic& other) {
      return other.kind == &Diag::UnknownName && other.span == found.span;
    });
  }
  loaded->diagnostics.insert(loaded->diagnostics.end(), diagnostics.list().begin(),
                             diagnostics.list().end());
  SortDiagnostics(&loaded->diagnostics);
  loaded->errors += diagnostics.errors();
  loaded->warnings += diagnostics.warnings();
}

// Compares what the config chooses with its lock file.
void CheckLocked(const std::string& path, const Config& config, const std::string& file,
                 Findings* findings) {
  std::vector<Diagnostic> diagnostics;
  std::string error;
  if (!CheckAgainstLock(path, config, file, &diagnostics, &error) && !error.empty()) {
    UsageError(error);
    findings->failures.push_back(error);
  }
  for (const Diagnostic& diagnostic : diagnostics) {
    (diagnostic.kind->severity == Severity::kError ? findings->errors : findings->warnings) +=
        diagnostic.stands_for;
    findings->diagnostics.push_back(diagnostic);
  }
}

// A line on how it went. Nothing where only files were missing: that is said already.
std::string Summary(const Findings& findings, const std::vector<std::string>& files,
                    const std::string& model) {
  if (findings.errors + findings.warnings > 0) {
    return CountOf(findings.errors, "error") + ", " + CountOf(findings.warnings, "warning") + "\n";
  }
  if (!findings.failures.empty()) return "";
  const std::string what = files.size() > 1       ? CountOf(files.size(), "config")
                           : files.front() == "-" ? "<stdin>"
                                                  : Printable(files.front());
  return what + ": fine" + (model.empty() ? "" : " for " + Printable(model)) + ", " +
         CountOf(findings.names, "name") + " mapped\n";
}

std::string Render(const Findings& findings, const Args& args) {
  if (args.format == "json") return DiagnosticsToJson(findings.diagnostics);
  if (args.format == "sarif") {
    return DiagnosticsToSarif(findings.diagnostics, findings.failures, Version());
  }
  if (args.format == "github") {
    return DiagnosticsToGithub(findings.diagnostics, findings.failures);
  }
  return Summary(findings, args.inputs, args.model ? BaseName(*args.model) : "");
}

}  // namespace

int RunCheck(const Args& args) {
  Findings findings;
  int exit_code = 0;
  std::string policy_error;
  const std::optional<Environment> environment =
      ReadEnvironment(&findings.diagnostics, &policy_error);
  if (!environment) {
    if (!policy_error.empty()) UsageError(policy_error);
    findings.failures.push_back(policy_error.empty() ? "the policy is broken" : policy_error);
    exit_code = 2;
  }
  std::optional<ModuleTree> tree;
  if (args.model) {
    std::string error;
    int code = 0;
    tree = ReadTree(*args.model, &code, &error);
    if (!tree) findings.failures.push_back(error);
    exit_code = std::max(exit_code, code);
  }
  for (const std::string& path : args.inputs) {
    std::string error;
    std::optional<Loaded> loaded = LoadConfig(path, &error, environment ? &*environment : nullptr);
    if (!loaded) {  // the others are still worth reading
      UsageError(error);
      findings.failures.push_back(error);
      exit_code = 2;
      continue;
    }
    if (tree && loaded->config) AddModelFindings(*tree, BaseName(*args.model), &*loaded);
    findings.diagnostics.insert(findings.diagnostics.end(), loaded->diagnostics.begin(),
                                loaded->diagnostics.end());
    findings.errors += loaded->errors;
    findings.warnings += loaded->warnings;
    if (loaded->config) {
      findings.names += loaded->config->mappings.size() + loaded->config->fusions.size();
    }
    if (args.locked && loaded->errors == 0) {
      const size_t before = findings.failures.size();
      CheckLocked(path, *loaded->config, args.lock_file, &findings);
      if (findings.failures.size() > before) exit_code = 2;
    }
  }
  if (args.format == "text") PrintDiagnostics(findings.diagnostics);
  if (const int code = WriteResult(args.output, Render(findings, args))) return code;
  if (exit_code) return exit_code;
  return findings.errors > 0 || (args.strict && findings.warnings > 0) ? 1 : 0;
}

}  // namespace kernelmap
