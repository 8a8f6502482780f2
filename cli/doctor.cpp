// kernelmap doctor: what is found on this machine, and what keeps kernels from loading.
#include "cli/doctor.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "cli/commands.h"
#include "cli/output.h"
#include "compiler/plan_json.h"
#include "compiler/store/folder.h"

namespace kernelmap {

Finding& Finding::Problem(FindingStatus how, std::string what, std::string fix) {
  status = std::max(status, how);
  problem = std::move(what);
  help = std::move(fix);
  return *this;
}

std::string EnvText(const GetEnv& get_env, const char* name) {
  const char* value = get_env(name);
  return value ? value : "";
}

void FindForConfig(const std::string& path, Findings* findings, int* exit_code) {
  const Compiled compiled = CompilePlan(path, {});
  PrintDiagnostics(compiled.diagnostics);
  if (!compiled.plan) {
    *exit_code = compiled.exit_code;
    findings->push_back({"config", "file", path, "", "", ""});
    findings->back().Problem(FindingStatus::kError,
                             compiled.error.empty() ? "it has mistakes" : compiled.error,
                             compiled.error.empty() ? "correct them" : "");
    return;
  }
  const Plan& plan = *compiled.plan;
  std::string device = plan.target.device;
  if (plan.target.capability) device += " " + CapabilityText(plan.target.capability);
  findings->push_back({"config", "target", device + ", torch " + plan.target.torch, "", "", ""});
  for (const PlanEntry& entry : plan.entries) {
    if (!entry.from_config) continue;
    Finding found{"config", entry.name, "", "", "", ""};
    if (entry.kernel) found.value = entry.kernel->ref;
    if (entry.source) {
      found.from = entry.source->file + ":" + std::to_string(entry.source->line);
    }
    if (entry.decision == Decision::kDisabled) found.value = "turned off";
    if (entry.decision == Decision::kFallback && entry.reason) {
      found.value = "stays as it is";
      found.Problem(FindingStatus::kError, entry.reason->text + " [" + entry.reason->code + "]",
                    entry.reason->code == "not_found"
                        ? "kernelmap fetch " + Visible(path)
                        : "kernelmap explain " + Visible(path) + " " + entry.name);
    }
    findings->push_back(std::move(found));
  }
}

int RunDoctor(const Args& args) {
  const GetEnv get_env = [](const char* name) { return std::getenv(name); };
  Findings findings = {{"program", "version", Version(), "", "", ""}};
  FindProgram(get_env, &findings);
  FindTorch(get_env, &findings);
  FindDevices(get_env, &findings);
  FindStore(get_env, &findings);
  FindHub(get_env, &findings);
  const bool fine = FindTrust(get_env, &findings).has_value();
  int exit_code = 0;
  // Without a policy that can be read there are no plans.
  if (fine && !args.inputs.empty()) FindForConfig(args.inputs.front(), &findings, &exit_code);
  const std::string text =
      args.format == "json" ? FindingsToJson(findings) : FindingsToText(findings);
  if (const int code = WriteResult(args.output, text)) return code;
  const bool bad = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.status == FindingStatus::kError;
  });
  return exit_code ? exit_code : bad ? 1 : 0;
}

}  // namespace kernelmap
