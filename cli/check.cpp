// kernelmap check: every error and warning of the configs.
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/output.h"
#include "compiler/compile.h"

namespace kernelmap {
namespace {

// What was found in all configs together.
struct Findings {
  std::vector<Diagnostic> diagnostics;
  std::vector<std::string> failures;  // files that cannot be read
  size_t errors = 0, warnings = 0;
  size_t names = 0;  // that the configs map
};

std::string Count(size_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

// A line on how it went. Nothing where only files were missing: that is said already.
std::string Summary(const Findings& findings, const std::vector<std::string>& files) {
  if (findings.errors + findings.warnings > 0) {
    return Count(findings.errors, "error") + ", " + Count(findings.warnings, "warning") + "\n";
  }
  if (!findings.failures.empty()) return "";
  const std::string what = files.size() > 1       ? Count(files.size(), "config")
                           : files.front() == "-" ? "<stdin>"
                                                  : files.front();
  return what + ": fine, " + Count(findings.names, "name") + " mapped\n";
}

std::string Render(const Findings& findings, const Args& args) {
  if (args.format == "json") return DiagnosticsToJson(findings.diagnostics);
  if (args.format == "sarif") {
    return DiagnosticsToSarif(findings.diagnostics, findings.failures, Version());
  }
  if (args.format == "github") {
    return DiagnosticsToGithub(findings.diagnostics, findings.failures);
  }
  return Summary(findings, args.inputs);
}

}  // namespace

int RunCheck(const Args& args) {
  Findings findings;
  std::string policy_error;
  const std::optional<Environment> environment =
      ReadEnvironment(&findings.diagnostics, &policy_error);
  if (!environment) {
    if (!policy_error.empty()) UsageError(policy_error);
    findings.failures.push_back(policy_error.empty() ? "the policy is broken" : policy_error);
  }
  for (const std::string& path : args.inputs) {
    std::string error;
    const std::optional<Loaded> loaded =
        LoadConfig(path, &error, environment ? &*environment : nullptr);
    if (!loaded) {  // the others are still worth reading
      UsageError(error);
      findings.failures.push_back(error);
      continue;
    }
    findings.diagnostics.insert(findings.diagnostics.end(), loaded->diagnostics.begin(),
                                loaded->diagnostics.end());
    findings.errors += loaded->errors;
    findings.warnings += loaded->warnings;
    if (loaded->config) findings.names += loaded->config->mappings.size() + loaded->config->fusions.size();
  }
  if (args.format == "text") PrintDiagnostics(findings.diagnostics);
  if (const int code = WriteResult(args.output, Render(findings, args))) return code;
  if (!findings.failures.empty()) return 2;
  return findings.errors > 0 || (args.strict && findings.warnings > 0) ? 1 : 0;
}

}  // namespace kernelmap
