// The part of doctor about programs, torch and devices.
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <sstream>

#include "cli/doctor.h"
#include "compiler/machine.h"
#include "compiler/plan_json.h"
#include "compiler/store/variant.h"
#include "compiler/torch_build.h"
#include "compiler/version.h"

namespace kernelmap {
namespace {

namespace fs = std::filesystem;

bool IsProgram(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

// The folder of this program.
fs::path OwnFolder() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

// As a shell looks for a program. An empty part of PATH is this folder.
bool OnPath(const GetEnv& get_env, const std::string& program) {
  const char* path = get_env("PATH");
  std::istringstream folders(path ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (IsProgram(fs::path(folder.empty() ? "." : folder) / program)) return true;
  }
  return false;
}

void FindRewriter(Findings* findings) {
  Finding& found = findings->emplace_back(
      Finding{"program", "kernelmap-rewrite", "beside kernelmap", "", "", ""});
  const fs::path program = OwnFolder() / "kernelmap-rewrite";
  std::error_code ignored;
  if (IsProgram(program)) return;
  found.value = "";
  if (fs::exists(program, ignored)) {
    found.Problem(FindingStatus::kError, "it is beside kernelmap, but cannot be run",
                  "make it executable: chmod +x");
  } else {
    found.Problem(FindingStatus::kError,
                  "it is not beside kernelmap: apply, verify, bench and plan --prove cannot run",
                  "build all of it with `make build`, and keep the two programs in one folder");
  }
}

// Where the build, the wheel, and an installation may have it.
void FindRuntime(Findings* findings) {
  Finding& found = findings->emplace_back(Finding{"program", "runtime library", "", "", "", ""});
  for (const std::string folder : {"../lib", "..", "."}) {
    const std::string path = folder + "/libkernelmap_runtime.so";
    std::error_code ignored;
    if (!fs::is_regular_file(OwnFolder() / path, ignored)) continue;
    found.value = path + " from kernelmap";
    if (access((OwnFolder() / path).c_str(), R_OK) != 0) {
      found.Problem(FindingStatus::kError, "it cannot be read", "make it readable: chmod +r");
    }
    return;
  }
  found.Problem(FindingStatus::kError,
                "libkernelmap_runtime.so is not near kernelmap: no rewritten model loads with it",
                "build it with `make build`; where it lies elsewhere, load it from there");
}

// What a variable hides of the devices: all where it is set and names none.
bool Hides(const GetEnv& get_env, const char* variable) {
  const char* value = get_env(variable);
  return value && (*value == '\0' || std::string_view(value) == "-1");
}

void FindDevice(const GetEnv& get_env, const std::string& device, const char* variable,
                const char* node, Findings* findings) {
  Finding& found = findings->emplace_back(Finding{"devices", device, "", "", "", ""});
  if (Hides(get_env, variable)) {
    found.value = "hidden";
    found.from = variable;
    return;
  }
  std::error_code ignored;
  const bool driver = fs::exists(node, ignored);
  const std::optional<Capability> capability = MachineCapability(device);
  if (capability) {
    found.value = "capability " + CapabilityText(capability);
    if (BuiltTorchDevice() != device) {
      found.Problem(FindingStatus::kWarning,
                    "the torch that kernelmap is built with cannot use it: plans are for the CPU "
                    "unless they say --device " +
                        device,
                    "build kernelmap with a torch for " + device + ": make build KM_TORCH_DIR=…");
    }
  } else if (driver) {
    found.Problem(FindingStatus::kWarning, "the driver is there, but no device answers",
                  device == "cuda" ? "see whether nvidia-smi finds one; in a container, pass it in"
                                   : "see whether rocminfo finds one; in a container, pass it in");
  }
}

}  // namespace

void FindProgram(const GetEnv& get_env, Findings* findings) {
  const System system = SystemOf(Target{});
  findings->push_back({"program", "system", system.arch + "-" + system.os, "", "", ""});
  FindRewriter(findings);
  FindRuntime(findings);
  Finding& git = findings->emplace_back(Finding{"program", "git", "found", "", "", ""});
  if (!OnPath(get_env, "git")) {
    git.value = "";
    git.Problem(FindingStatus::kWarning, "it is not in PATH: diff cannot read git:REVISION:PATH",
                "install git");
  }
}

void FindTorch(const GetEnv& get_env, Findings* findings) {
  findings->push_back({"torch", "built with",
                       std::string(BuiltTorchVersion()) + ", " + std::string(BuiltTorchDevice()),
                       "", "", ""});
  const std::string here = EnvText(get_env, "KERNELMAP_TORCH");
  const std::string text = here.empty() ? std::string(BuiltTorchVersion()) : here;
  Finding& found = findings->emplace_back(
      Finding{"torch", "planned for", text, here.empty() ? "" : "KERNELMAP_TORCH", "", ""});
  const std::optional<TorchVersion> version = ParseTorchVersion(text);
  const std::optional<TorchVersion> built = ParseTorchVersion(BuiltTorchVersion());
  if (!version) {
    found.Problem(FindingStatus::kError, "it is no version of torch",
                  "set KERNELMAP_TORCH to one like 2.13.0, or unset it");
  } else if (built && version->release != built->release) {
    found.Problem(FindingStatus::kWarning,
                  "kernelmap is built with another: kernels are chosen for this one, and apply, "
                  "verify and bench run with the other",
                  "unset KERNELMAP_TORCH to choose for the torch that kernelmap is built with");
  }
}

void FindDevices(const GetEnv& get_env, Findings* findings) {
  FindDevice(get_env, "cuda", "CUDA_VISIBLE_DEVICES", "/dev/nvidiactl", findings);
  FindDevice(get_env, "rocm", "HIP_VISIBLE_DEVICES", "/dev/kfd", findings);
}

}  // namespace kernelmap
