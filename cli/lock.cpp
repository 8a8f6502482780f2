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
#include "compiler/plan_json.h"
#include "compiler/reasons.h"
#include "compiler/words.h"

namespace kernelmap {
namespace {

// Why a kernel's files cannot be read although they are there.
bool IsDamaged(const std::string& code) {
  return Contains({"tampered", "incomplete", "truncated", "unsafe_path"}, code);
}

// What may be so of a good kernel. Anything else is missing or wrong in the store.
bool IsOfTheKernel(const std::string& code) {
  return Contains({"no_variant", "python_only", "no_implementation"}, code);
}

std::string TargetName(const Target& target) {
  const std::string capability = CapabilityText(target.capability);
  return capability.empty() ? target.device : target.device + ":" + capability;
}

// Whether the lock that is there has a build for the target.
bool HadBuild(const Lock* old, const LockedKernel& kernel, const Target& target) {
  const LockedKernel* locked = old ? old->Find(kernel.kernel, kernel.revision) : nullptr;
  if (!locked) return false;
  for (const LockedBuild& build : locked->builds) {
    for (const size_t place : build.targets) {
      if (place < old->targets.size() && TargetName(old->targets[place]) == TargetName(target)) {
        return true;
      }
    }
  }
  return false;
}

// One kernel that some targets have no build of: each reason once.
void ReportMissing(const Candidate& candidate, const LockedKernel& kernel, const Lock& lock,
                   const Lock* old, Diagnostics* diagnostics) {
  std::map<std::string, std::string> targets;  // by reason: "cpu, cuda:9.0"
  std::set<std::string> errors;
  for (const auto& [place, reason] : kernel.missing) {
    std::string& names = targets[reason];
    names += (names.empty() ? "" : ", ") + TargetName(lock.targets[place]);
    const bool lost = !IsOfTheKernel(reason) && HadBuild(old, kernel, lock.targets[place]);
    if (lost || IsDamaged(reason)) errors.insert(reason);
  }
  for (const auto& [reason, names] : targets) {
    const std::string text(ReasonText(reason));
    const bool all = kernel.builds.empty() && targets.size() == 1;
    const std::string of = all ? "any target" : names;
    if (errors.contains(reason)) {
      diagnostics->Report<Diag::NotLockable>(candidate.span, candidate.ref.text, of, text)
          .Help(kernel.revision.empty()
                    ? "the lock file stays as it is"
                    : "kernelmap fetch CONFIG downloads it; the lock file stays as it is");
    } else {
      diagnostics->Report<Diag::LockedNothing>(candidate.span, candidate.ref.text, of, text);
    }
  }
}

// Of the config's own kernels. Inherited ones are in the file only.
void ReportMissing(const Config& config, const Lock& lock, const Lock* old,
                   Diagnostics* diagnostics) {
  const auto look = [&](const Mapping& mapping) {
    ForEachCandidateOf(mapping, [&](const Candidate& candidate) {
      const bool hub = candidate.ref.kind == KernelRef::Kind::kHub;
      if (candidate.ref.kind == KernelRef::Kind::kBuiltin) return;
      const std::string revision = hub ? WantedRevision(candidate, mapping.name) : "";
      for (const LockedKernel& kernel : lock.kernels) {
        const bool same = hub ? kernel.kernel == candidate.ref.repo
                              : RefLabel(candidate.ref, &config).starts_with(kernel.kernel + ":");
        if (same && kernel.revision == revision) {
          ReportMissing(candidate, kernel, lock, old, diagnostics);
        }
      }
    });
  };
  for (const Mapping& mapping : config.mappings) look(mapping);
  if (config.attn_implementation) look(*config.attn_implementation);
  for (const Fusion& fusion : config.fusions) look(fusion.mapping);
}

// The lock file that would be overwritten; nothing where there is none that can be read.
std::optional<Lock> OldLock(const std::string& path) {
  std::string error;
  struct stat status {};
  if (path == "-" || stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  std::optional<std::string> bytes = ReadFile(path, kMaxFileBytes, &error);
  if (!bytes) return std::nullopt;
  Diagnostics diagnostics(std::make_shared<Source>(path, std::move(*bytes)));
  return ReadLock(&diagnostics);
}

std::string Summary(const std::string& file, const Lock& lock) {
  size_t kernels = 0, builds = 0;
  for (const LockedKernel& kernel : lock.kernels) {
    if (!kernel.builds.empty()) ++kernels;
    builds += kernel.builds.size();
  }
  std::string text = file.substr(file.rfind('/') + 1) + ": " + CountOf(kernels, "kernel") + ", " +
                     CountOf(builds, "build");
  if (kernels < lock.kernels.size()) {
    text += ", " + std::to_string(lock.kernels.size() - kernels) + " not locked";
  }
  return text + "\n";
}

}  // namespace

int RunLock(const Args& args) {
  const std::string& path = args.inputs.front();
  std::string error;
  const std::optional<Loaded> loaded = LoadConfig(path, &error);
  if (!loaded) return UsageError(error);
  std::vector<Diagnostic> diagnostics = loaded->diagnostics;
  if (loaded->errors > 0) {
    PrintDiagnostics(diagnostics);
    return 1;
  }
  const std::optional<Environment> environment = ReadEnvironment(&diagnostics, &error);
  const auto targets = TargetsOf(args, *loaded->config, &diagnostics);
  if (!environment || !targets) {
    PrintDiagnostics(diagnostics);
    return error.empty() ? 2 : UsageError(error);
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
  const Lock lock = MakeLock(*loaded->config, *environment, *targets);
  const std::optional<Lock> old = OldLock(output);
  Diagnostics findings(loaded->config->source);
  ReportMissing(*loaded->config, lock, old ? &*old : nullptr, &findings);
  findings.Finish();
  diagnostics.insert(diagnostics.end(), findings.list().begin(), findings.list().end());
  PrintDiagnostics(diagnostics);
  if (findings.errors() > 0) return 1;
  if (args.strict && loaded->warnings + findings.warnings() > 0) return 1;
  if (old && !old->config.empty() && !lock.config.empty() && old->config != lock.config) {
    return UsageError(
        "`" + output + "` is the lock file of another config, `" + old->config +
        "`\nhelp: -o FILE writes another, which --lock FILE reads; or delete it first");
  }
  if (const int code = WriteResult(output, LockToJson(lock), output != "-")) return code;
  return output == "-" ? 0 : WriteResult("-", Summary(output, lock));
}

}  // namespace kernelmap
