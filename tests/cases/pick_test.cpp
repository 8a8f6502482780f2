// Which kernel is chosen: each case's entries go through the small languages and the resolver, with
// a store that knows the case's repositories and nothing else.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compiler/resolve.h"
#include "tests/cases/cases.h"

namespace kernelmap {
namespace {

using nlohmann::json;

// What came out: a repository, "fallback" with a reason, or "error" with a diagnostic's name.
struct Outcome {
  std::string what, detail;
};

class Case {
 public:
  explicit Case(const json& json) : case_(json) {
    config_.source = std::make_shared<Source>("case", "");
    config_.allow_all_kernels.value = true;
  }

  Outcome Run() {
    Mapping mapping;
    mapping.name = case_["target"]["layer"];
    for (const json& scope : case_["scopes"]) {
      // A scope lies over those before it, or stands alone.
      if (!scope.value("inherit_mapping", true)) mapping.entries.clear();
      for (const json& entry : scope["entries"]) {
        if (!AddEntry(entry, &mapping)) return {"error", problem_};
      }
    }
    std::vector<Diagnostic> diagnostics;
    const std::optional<Target> target = ReadTarget(&diagnostics);
    if (!target) return {"error", std::string(diagnostics.front().kind->name)};
    if (mapping.entries.empty()) return {"fallback", "no_entry"};
    const Environment environment;
    const Store store = [this](const StoreRequest& request) { return Answer(request); };
    const PlanEntry entry = ResolveEntry({.name = mapping.name,
                                          .own = &mapping,
                                          .inherited = {},
                                          .modules = {},
                                          .config = &config_,
                                          .target = *target,
                                          .environment = environment,
                                          .store = store});
    if (entry.kernel) return {*entry.kernel->repo, ""};
    return {"fallback", entry.reason ? entry.reason->code : "none"};
  }

 private:
  static std::string Lower(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
  }

  static std::string CapabilityOf(int number) {
    return std::to_string(number / 10) + "." + std::to_string(number % 10);
  }

  // Parses a small text as a key of a config would be; the first problem's name is kept.
  template <typename T, typename Parse>
  std::optional<T> Read(const std::string& text, Parse parse) {
    Diagnostics diagnostics(std::make_shared<Source>("text", text));
    std::optional<T> value = parse(SubText::OfSource(*diagnostics.source()), &diagnostics);
    if (!value) problem_ = diagnostics.list().front().kind->name;
    return value;
  }

  bool AddEntry(const json& entry, Mapping* mapping) {
    std::string device = entry["device"];
    if (entry.contains("min_capability")) {
      device += ">=" + CapabilityOf(entry["min_capability"]);
      device += ",<=" + CapabilityOf(entry["max_capability"]);
    }
    DeviceEntry bound;
    bound.selector = Read<DeviceSelector>(device, ParseDeviceSelector);
    if (!bound.selector) return false;
    if (entry.contains("repo")) {
      bound.modes.push_back({std::nullopt, {}, ValueOf(entry["repo"])});
    } else {
      for (const auto& [mode, repo] : entry["modes"].items()) {
        const std::optional<Mode> parsed = Read<Mode>(Lower(mode), ParseMode);
        if (!parsed) return false;
        bound.modes.push_back({*parsed, {}, ValueOf(repo)});
      }
    }
    if (entry["layer"] == mapping->name) mapping->entries.push_back(std::move(bound));
    return true;
  }

  static Value ValueOf(const std::string& repo) {
    Candidate candidate;
    candidate.ref.repo = candidate.ref.text = repo;
    candidate.ref.name = "Layer";
    Value value;
    value.candidates.push_back(std::move(candidate));
    return value;
  }

  std::optional<Target> ReadTarget(std::vector<Diagnostic>* diagnostics) const {
    const json& target = case_["target"];
    TargetFlags flags;
    flags.device = target["device"];
    flags.mode = Lower(target["mode"]);
    if (HasCapability(*flags.device)) {
      // Python asks the device at hand, and where there is none that fails.
      const json& capability = target["capability"];
      flags.capability = capability.is_null() ? "auto" : CapabilityOf(capability);
    }
    return ResolveTarget(flags, nullptr, diagnostics);
  }

  StoreAnswer Answer(const StoreRequest& request) const {
    const json& repo = case_["repos"][request.ref.repo];
    StoreAnswer answer;
    if (repo.contains("load")) {
      const bool missing = repo["load"] == "missing";
      answer.reason = Reason{missing ? "not_found" : "cannot_load", repo["load"], ""};
      return answer;
    }
    answer.kernel.emplace().repo = request.ref.repo;
    const auto flag = [&](const char* key, bool otherwise) {
      return repo.contains(key) && !repo[key].is_null() ? repo[key].get<bool>() : otherwise;
    };
    answer.backward = flag("has_backward", true);
    answer.torch_compile = flag("can_torch_compile", false);
    return answer;
  }

  const json& case_;
  Config config_;
  std::string problem_;
};

// The reasons that say what Python's word says.
bool SameReason(const std::string& python, const std::string& ours) {
  if (python == "NO_LAYER") return ours == "no_entry";
  if (python == "NO_DEVICE") return ours == "no_kernel_for_device";
  if (python == "NO_COMPATIBLE_PROPERTIES") return ours == "capability";
  // Python has one word for a mode that is not mapped and one that the kernel does not do.
  if (python == "NO_COMPATIBLE_MODE") {
    return ours == "mode" || ours == "no_backward" || ours == "no_compile";
  }
  return false;
}

// Where Python raises, ours refuses the entry or the target, or stays at stock code for the reason
// that Python's message gives.
bool SameError(const std::string& message, const Outcome& ours) {
  const auto says = [&](const char* text) { return message.find(text) != std::string::npos; };
  const auto fallback = [&](std::initializer_list<const char*> reasons) {
    return ours.what == "fallback" &&
           std::find(reasons.begin(), reasons.end(), ours.detail) != reasons.end();
  };
  if (says("Was registered for")) return fallback({"no_backward", "no_compile"});
  if (says("with the right properties")) return fallback({"capability"});
  if (says("with device type")) return fallback({"no_kernel_for_device"});
  if (says("No layer mapping for")) return fallback({"no_entry"});
  if (says("does not support mode")) return fallback({"no_backward", "no_compile"});
  if (says("No repository for")) return fallback({"mode"});
  if (says("Forward signature") || says("additional members")) return fallback({"cannot_load"});
  if (says("min_capability")) return ours.what == "error" && ours.detail == "EmptyInterval";
  if (says("CUDAProperties")) return ours.what == "error" && ours.detail == "NoCapabilities";
  if (says("no CUDA device")) return ours.what == "error" && ours.detail == "NoDeviceHere";
  if (says("device type")) return ours.what == "error" && ours.detail == "UnknownDevice";
  if (says("must contain")) return ours.what == "error" && ours.detail == "TargetMode";
  if (says("combined") || says("exclusive")) {
    return ours.what == "error" && ours.detail == "ModeConflict";
  }
  return ours.what != "kernel" && (ours.what == "error" || !ours.detail.empty());
}

std::string Judge(const json& json) {
  const Outcome ours = Case(json).Run();
  const std::string expected = json["expected"];
  bool fine = false;
  if (expected == "fallback") {
    fine = ours.what == "fallback" && SameReason(json.value("fallback_reason", ""), ours.detail);
  } else if (expected.starts_with("error:")) {
    fine = ours.what != "kernel" && SameError(json.value("message", ""), ours);
  } else {
    const auto& acceptable = json["acceptable"];
    fine = std::find(acceptable.begin(), acceptable.end(), ours.what) != acceptable.end();
  }
  if (fine) return "";
  return ours.what + " " + ours.detail + ", expected " + expected + " " +
         json.value("fallback_reason", json.value("message", ""));
}

}  // namespace
}  // namespace kernelmap

int main(int argc, char** argv) {
  return kernelmap::RunCases(argc, argv, {{"cases", kernelmap::Judge}});
}
