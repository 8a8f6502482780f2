// kernelmap lock: writes kernelmap.lock.
#include "compiler/lock.h"

#include <sys/stat.h>

#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/targets.h"
#include "compiler/candidate.h"
#include "compiler/plan_json.h"
#include "compiler/reasons.h"

namespace kernelmap {
namespace {

// Warns of the config's own kernels that could not be locked. Inherited ones are in the file only.
void WarnOfNothing(const Config& config, const Lock& lock, Diagnostics* diagnostics) {
  for (const LockedKernel& kernel : lock.kernels) {
    if (kernel.reason.empty()) continue;
    for (const Mapping& mapping : config.mappings) {
      for (const DeviceEntry& entry : mapping.entries) {
        for (const ModeValue& mode : entry.modes) {
          for (const Candidate& candidate : mode.value.candidates) {
            const bool hub = candidate.ref.kind == KernelRef::Kind::kHub;
            if (hub != !kernel.revision.empty() ||
                candidate.ref.kind == KernelRef::Kind::kBuiltin) {
              continue;
            }
            const bool same =
                hub ? candidate.ref.repo == kernel.kernel &&
                          (candidate.revision.empty() || candidate.revision == kernel.revision)
                    : RefLabel(candidate.ref, &config).starts_with(kernel.kernel + ":");
            if (same) {
              diagnostics->Report<Diag::LockedNothing>(candidate.span, candidate.ref.text,
                                                       ReasonText(kernel.reason));
            }
          }
        }
      }
    }
  }
}

std::string Count(size_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

std::string Summary(const std::string& file, const Lock& lock) {
  size_t kernels = 0, builds = 0;
  for (const LockedKernel& kernel : lock.kernels) {
    if (!kernel.builds.empty()) ++kernels;
    builds += kernel.builds.size();
  }
  std::string text = file.substr(file.rfind('/') + 1) + ": " + Count(kernels, "kernel") + ", " +
                     Count(builds, "build");
  if (kernels < lock.kernels.size()) {
    text += ", " + std::to_string(lock.kernels.size() - kernels) + " not in the store";
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
  const Lock lock = MakeLock(*loaded->config, *environment, *targets);
  Diagnostics warnings(loaded->config->source);
  WarnOfNothing(*loaded->config, lock, &warnings);
  warnings.Finish();
  diagnostics.insert(diagnostics.end(), warnings.list().begin(), warnings.list().end());
  PrintDiagnostics(diagnostics);
  if (args.strict && loaded->warnings + warnings.warnings() > 0) return 1;
  std::string output = args.lock_output.value_or("");
  if (!args.lock_output) {
    output = path == "-" ? "" : path.substr(0, path.rfind('/') + 1);
    output += "kernelmap.lock";
    struct stat status {};
    if (stat(output.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
      return UsageError("cannot write `" + output + "`: something that is no file is in its place");
    }
  }
  if (const int code = WriteResult(output, LockToJson(lock), output != "-")) return code;
  return output == "-" ? 0 : WriteResult("-", Summary(output, lock));
}

}  // namespace kernelmap
