// A config resolved for one target: for each name the kernel that stands for it, or why none does.
// Plain data; JSON (schemas/plan.schema.json) is its truth.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/catalogue.h"
#include "compiler/path_pattern.h"
#include "compiler/report.h"
#include "compiler/target.h"

namespace kernelmap {

enum class Decision { kKernel, kFallback, kDisabled };
/// "kernel", "fallback", "disabled".
std::string_view DecisionName(Decision decision);

struct TraceStep {
  std::string step;  // "entry", "capability", "mode", "trust", "variant", ...
  bool ok = true;
  std::string text;
};

/// A module of a fusion: a layer or class name, and the pattern of its paths.
struct FusionModule {
  std::string name, pattern;
};

/// A candidate that was tried and could not be used.
struct RefusedCandidate {
  std::string repo, revision;  // of the Hub; "" of others
  bool specifiers = false;     // `revision` is version specifiers
  Reason reason;
};

struct PlanEntry {
  std::string name;
  Decision decision = Decision::kFallback;
  std::string mode;  // the mode whose value was taken: "inference", "fallback"
  std::optional<KernelUse> kernel;
  std::shared_ptr<const Kernel> code;  // of a kernel that is not built in: how it is called
  std::string interval;                // "cuda>=8.0,<=8.9"; "" when unbounded
  std::vector<FusionModule> modules;   // of a fusion, whose name is theirs joined by `+`
  std::vector<std::string> only, except;
  std::string guard = "semantic";
  std::optional<Reason> reason;
  std::optional<Position> source;
  bool from_config = false;  // the config itself maps the name (else it is inherited)
  std::vector<TraceStep> trace;
  std::vector<RefusedCandidate> refused;  // in the order of the config
};

/// Classes that answer to a name beside those the catalogue knows: `[[model.layer]]`.
struct ExtraClass {
  std::string name, class_name;
};

struct Plan {
  Target target;
  std::string config_file;  // base name; "" for the default mapping alone
  std::string config_sha256;
  std::string model_root;                 // [model] root
  std::vector<std::string> model_inputs;  // [model] inputs
  std::vector<ExtraClass> extra_classes;
  bool error_on_fallback = false;  // on_fallback = "error"
  std::vector<PlanEntry> entries;  // one a name and a fusion, sorted by name
  std::vector<Site> sites;         // with a model
  bool has_sites = false;
  /// Of `entries`, which must be sorted.
  const PlanEntry* Find(std::string_view name) const;
};

/// kernelmap-plan/1, ending in a newline.
std::string PlanToJson(const Plan& plan);
std::string PlanToText(const Plan& plan);

/// One module of a model, as the archive's module tree gives it.
struct ModuleInfo {
  std::string path;        // "" is the root
  std::string class_name;  // unmangled, last component
};

/// The plan entries that a class answers to, those of the config first, then the longest name.
/// `hinted` names come from catalogue hints: they make a site only where their code unifies, or
/// where the config itself maps the name.
struct Answer {
  enum class Why { kDeclared, kSuffix, kCatalogue, kHint };
  const PlanEntry* entry = nullptr;
  bool hinted = false;
  Why why = Why::kSuffix;
  std::string_view hint;  // of kHint: the hint that the class ends with
};
std::vector<Answer> AnswersFor(const Plan& plan, std::string_view class_name);

}  // namespace kernelmap
