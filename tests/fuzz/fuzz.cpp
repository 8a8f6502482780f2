#include "tests/fuzz/fuzz.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "compiler/plan_json.h"

namespace kernelmap::fuzz {
namespace {

void CheckOutput(const std::string& text, size_t diagnostics) {
  Require(ValidUtf8Prefix(text) == text.size(), "output that is not UTF-8");
  Require(text.find('\x1b') == std::string::npos, "output that steers a terminal");
  Require(text.size() <= 4096 + 16384 * diagnostics, "long output");
}

void CheckPlan(const Config& config, const Target& target) {
  const Plan plan = Resolve(&config, target, Environment{});
  for (const PlanEntry& entry : plan.entries) {
    // Fusions of the same modules have one name.
    const PlanEntry* found = plan.Find(entry.name);
    Require(found && found->name == entry.name, "entries that are not sorted");
    Require((entry.decision == Decision::kKernel) == entry.kernel.has_value(), "no kernel");
    Require((entry.decision == Decision::kKernel) != entry.reason.has_value(), "no reason");
    Require(!entry.trace.empty(), "no trace");
  }
  Require(ValidUtf8Prefix(PlanToJson(plan)) == PlanToJson(plan).size(), "a plan not in UTF-8");
  Require(!PlanToText(plan).empty(), "no text");
}

}  // namespace

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

void CheckDiagnostics(const std::vector<Diagnostic>& list) {
  for (const Diagnostic& diagnostic : list) {
    const size_t size = diagnostic.source->text().size();
    Require(diagnostic.span.begin <= diagnostic.span.end && diagnostic.span.end <= size, "a span");
    for (const Label& label : diagnostic.labels) {
      Require(label.span.begin <= label.span.end && label.span.end <= size, "a label's span");
    }
  }
  CheckOutput(DiagnosticsToText(list, false), list.size());
  CheckOutput(DiagnosticsToJson(list), list.size());
  CheckOutput(DiagnosticsToSarif(list, {}, "0"), list.size());
  CheckOutput(DiagnosticsToGithub(list, {}), list.size());
}

void CheckConfigText(const char* name, std::string_view text) {
  const Loaded loaded = LoadConfigText(name, std::string(text));
  size_t errors = 0, warnings = 0;
  for (const Diagnostic& diagnostic : loaded.diagnostics) {
    const bool error = diagnostic.kind->severity == Severity::kError;
    (error ? errors : warnings) += diagnostic.stands_for;
  }
  Require(errors == loaded.errors && warnings == loaded.warnings, "mistakes counted wrong");
  Require(loaded.config || errors > 0, "no config and no error");
  CheckDiagnostics(loaded.diagnostics);
  if (errors > 0) return;
  Target target;
  target.device = "cpu";
  CheckPlan(*loaded.config, target);
  target.device = "cuda";
  target.mode = "training|torch_compile";
  target.capability = Capability{9, 0};
  CheckPlan(*loaded.config, target);
  std::vector<Diagnostic> of_flags;
  TargetFlags flags;
  flags.device = "cpu";
  if (const auto resolved = ResolveTarget(flags, &*loaded.config, &of_flags)) {
    CheckPlan(*loaded.config, *resolved);
  }
  CheckDiagnostics(of_flags);
}

Language::Language(std::string_view text)
    : source_(std::make_shared<Source>("text", std::string(text))), diagnostics_(source_) {}

bool Language::Check(bool parsed) {
  Require(parsed == (diagnostics_.errors() == 0), "a value beside errors, or neither");
  diagnostics_.Finish();
  CheckDiagnostics(diagnostics_.list());
  return parsed;
}

bool CanBeInConfig(std::string_view text) { return ValidUtf8Prefix(text) == text.size(); }

}  // namespace kernelmap::fuzz
