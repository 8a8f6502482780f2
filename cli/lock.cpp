// kernelmap lock: writes kernelmap.lock.
#include "compiler/lock.h"

#include <sys/stat.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/targets.h"
#include "compiler/candidate.h"
#include "compiler/check.h"
#include "compiler/contains.h"
#include "compiler/display.h"
#include "compiler/hub/fetch_config.h"
#include "compiler/plan_json.h"
#include "compiler/reasons.h"
#include "compiler/words.h"

namespace kernelmap {
namespace {

// Why a kernel's files cannot be used although they are there.
bool IsDamaged(const std::string& code) {
  return Contains(
      {"tampered", "incomplete", "truncated", "unsafe_path", "no_metadata", "bad_metadata"}, code);
}

// What may be so of a good kernel. Anything else is missing or wrong in the store, or keeps
// kernelmap from asking it.
bool IsOfTheKernel(const std::string& code) {
  return Contains({"no_variant", "python_only", "no_implementation"}, code);
}

std::string TargetName(const Target& target) {
  const std::string capability = CapabilityText(target.capability);
  return capability.empty() ? target.device : target.device + ":" + capability;
}

// Whether a build that the lock file has would be lost: one for the target, or for any target where
// now there is none at all.
bool WouldLose(const Lock* old, const LockedKernel& kernel, const Target& target) {
  const LockedKernel* locked = old ? old->Find(kernel.kernel, kernel.revision) : nullptr;
  if (!locked) return false;
  if (kernel.builds.empty() && !locked->builds.empty()) return true;
  for (const LockedBuild& build : locked->builds) {
    for (const size_t place : build.targets) {
      if (TargetName(old->targets[place]) == TargetName(target)) return true;
    }
  }
  return false;
}

std::string RefusedHelp(const LockedKernel& kernel) {
  return FetchHelp({kernel.reason, kernel.why, ""});
}

std::string HelpFor(const LockedKernel& kernel) {
  constexpr const char* kStays = "the lock file stays as it is";
  if (!kernel.why.empty()) return RefusedHelp(kernel) + "; " + kStays;
  if (kernel.revision.empty()) return kStays;
  return std::string("kernelmap fetch CONFIG downloads it; ") + kStays;
}

// One kernel that some targets have no build of: each reason once. Of an inherited one (`warn` is
// false) only what would be lost.
void ReportMissing(const LockedKernel& kernel, Span span, const std::string& name, bool warn,
                   const Lock& lock, const Lock* old, Diagnostics* diagnostics) {
  std::map<std::string, std::string> targets;  // by reason: "cpu, cuda:9.0"
  std::set<std::string> errors;
  for (const auto& [place, reason] : kernel.missing) {
    std::string& names = targets[reason];
    names += (names.empty() ? "" : ", ") + TargetName(lock.targets[place]);
    const bool lost = !IsOfTheKernel(reason) && WouldLose(old, kernel, lock.targets[place]);
    if (lost || (warn && IsDamaged(reason))) errors.insert(reason);
  }
  for (const auto& [reason, names] : targets) {
    const std::string text = kernel.why.empty() ? std::string(ReasonText(reason)) : kernel.why;
    const bool all = kernel.builds.empty() && targets.size() == 1;
    const std::string of = all ? "any target" : names;
    if (errors.contains(reason)) {
      diagnostics->Report<Diag::NotLockable>(span, name, of, text).Help(HelpFor(kernel));
    } else if (warn) {
      auto report = diagnostics->Report<Diag::LockedNothing>(span, name, of, text);
      if (!kernel.why.empty()) report.Help(RefusedHelp(kernel));
    }
  }
}

// The config's own kernels at their places, then inherited ones.
void ReportMissing(const Config& config, const Lock& lock, const Lock* old,
                   Diagnostics* diagnostics) {
  std::vector<LockedKernel> kernels = lock.kernels;
  kernels.insert(kernels.end(), lock.refused.begin(), lock.refused.end());
  std::set<const LockedKernel*> own;
  const auto look = [&](const Mapping& mapping) {
    ForEachCandidateOf(mapping, [&](const Candidate& candidate) {
      const bool hub = candidate.ref.kind == KernelRef::Kind::kHub;
      if (candidate.ref.kind == KernelRef::Kind::kBuiltin) return;
      const std::string revision = hub ? WantedRevision(candidate, mapping.name) : "";
      for (const LockedKernel& kernel : kernels) {
        const bool same = hub ? kernel.kernel == candidate.ref.repo
                              : RefLabel(candidate.ref, &config).starts_with(kernel.kernel + ":");
        if (!same || kernel.revision != revision) continue;
        own.insert(&kernel);
        ReportMissing(kernel, candidate.span, candidate.ref.text, true, lock, old, diagnostics);
      }
    });
  };
  for (const Mapping& mapping : config.mappings) look(mapping);
  if (config.attn_implementation) look(*config.attn_implementation);
  for (const Fusion& fusion : config.fusions) look(fusion.mapping);
  const Span place = config.default_mapping.span.value_or(Span{0, 0});
  for (const LockedKernel& kernel : kernels) {
    if (own.contains(&kernel)) continue;
    ReportMissing(kernel, place, kernel.kernel + "@" + kernel.revision, false, lock, old,
                  diagnostics);
  }
}

// The lock file that would be overwritten; nothing where there is none. Whatever else lies there
// is not overwritten: false, and why in `error` or in diagnostics.
bool ReadOldLock(const std::string& path, std::optional<Lock>* old,
                 std::vector<Diagnostic>* diagnostics, std::string* error) {
  struct stat status {};
  if (path == "-" || stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size == 0) {
    return true;
  }
  std::optional<std::string> bytes = ReadFile(path, kMaxFileBytes, error);
  if (bytes) {
    Diagnostics found(std::make_shared<Source>(path, std::move(*bytes)));
    *old = ReadLock(&found);
    found.Finish();
    diagnostics->insert(diagnostics->end(), found.list().begin(), found.list().end());
    if (!*old) *error = "`" + path + "` is there, and no lock file that can be read";
    if (*old && (*old)->python) *error = "`" + path + "` is a lock file of the Python library";
  }
  if (error->empty()) return true;
  *error += "\nhelp: it is not overwritten: -o FILE writes another; or delete it first";
  return false;
}

// Why the lock file that is there is not this config's to overwrite; "" where it is.
std::string OtherConfig(const std::string& path, const Lock& old, const Lock& lock) {
  if (!old.config || old.config == lock.config) return "";
  const std::string whose = old.config->empty()
                                ? "a config from standard input"
                                : "another config, `" + Printable(*old.config) + "`";
  return "`" + path + "` is the lock file of " + whose +
         "\nhelp: -o FILE writes another, which --lock FILE reads; or delete it first";
}

std::string Summary(const std::string& file, const Lock& lock) {
  size_t kernels = 0, builds = 0;
  for (const LockedKernel& kernel : lock.kernels) {
    if (!kernel.builds.empty()) ++kernels;
    builds += kernel.builds.size();
  }
  std::string text = Printable(file.substr(file.rfind('/') + 1)) + ": " +
                     CountOf(kernels, "kernel") + ", " + CountOf(builds, "build");
  const size_t all = lock.kernels.size() + lock.refused.size();
  if (kernels < all) {
    text += ", " + std::to_string(all - kernels) + " not locked";
  }
  return text + "\n";
}

}  // namespace

int RunLock(const Args& args) {
  const std::string& path = args.inputs.front();
  std::string error;
  std::vector<Diagnostic> diagnostics;
  const std::optional<Environment> environment = ReadEnvironment(&diagnostics, &error);
  if (!environment) {
    PrintDiagnostics(diagnostics);
    return error.empty() ? 2 : UsageError(error);
  }
  const std::optional<Loaded> loaded = LoadConfig(path, &error, &*environment);
  if (!loaded) return UsageError(error);
  diagnostics.insert(diagnostics.end(), loaded->diagnostics.begin(), loaded->diagnostics.end());
  if (loaded->errors > 0) {
    PrintDiagnostics(diagnostics);
    return 1;
  }
  const auto targets = TargetsOf(args, *loaded->config, &diagnostics);
  if (!targets) {
    PrintDiagnostics(diagnostics);
    return 2;
  }
  std::string output = args.lock_output.value_or("");
  if (!args.lock_output) {
    output = path == "-" ? "" : path.substr(0, path.rfind('/') + 1);
    output += "kernelmap.lock";
    struct stat status {};
    if (stat(output.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
      return UsageError("cannot write `" + output + "`: something that is no file is in its place");
    }
  }
  std::optional<Lock> old;
  if (!ReadOldLock(output, &old, &diagnostics, &error)) {
    PrintDiagnostics(diagnostics);
    return UsageError(error);
  }
  const Lock lock = MakeLock(*loaded->config, *environment, *targets);
  if (const std::string other = old ? OtherConfig(output, *old, lock) : ""; !other.empty()) {
    PrintDiagnostics(diagnostics);
    return UsageError(other);
  }
  Diagnostics findings(loaded->config->source);
  ReportMissing(*loaded->config, lock, old ? &*old : nullptr, &findings);
  findings.Finish();
  diagnostics.insert(diagnostics.end(), findings.list().begin(), findings.list().end());
  PrintDiagnostics(diagnostics);
  if (findings.errors() > 0) return 1;
  if (args.strict && loaded->warnings + findings.warnings() > 0) return 1;
  if (const int code = WriteResult(output, LockToJson(lock), output != "-")) return code;
  return output == "-" ? 0 : WriteResult("-", Summary(output, lock));
}

}  // namespace kernelmap
