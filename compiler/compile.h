// From a config file to a plan: what every program does first.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/config.h"
#include "compiler/plan.h"
#include "compiler/store.h"

namespace kernelmap {

/// A config that was read, bound and checked, with everything that was found wrong. Not to be
/// resolved when there are errors.
struct Loaded {
  std::optional<Config> config;  // nothing where the file is not TOML or JSON
  std::vector<Diagnostic> diagnostics;
  size_t errors = 0;
  size_t warnings = 0;
};

/// The bytes of a file or pipe, at most `limit` + 1 of them; "-" is standard input. Nothing, and a
/// message for people in `error`, where it cannot be read, or is something else.
std::optional<std::string> ReadFile(const std::string& path, size_t limit, std::string* error);

/// What the command line says of the target. A flag wins over `[target]`.
struct TargetFlags {
  std::optional<std::string> device;      // "auto" is this machine's
  std::optional<std::string> capability;  // "auto" too
  std::optional<std::string> mode, torch, cuda, rocm, xpu;
};

/// The target that flags, config (may be null) and machine make: its GPU, and the torch that
/// KERNELMAP_TORCH names, else the one that kernelmap is built with. Nothing, and diagnostics about
/// the flags, where these are wrong.
std::optional<Target> ResolveTarget(const TargetFlags& flags, const Config* config,
                                    std::vector<Diagnostic>* diagnostics);

/// What of the environment a plan depends on.
struct Environment {
  std::optional<std::string> use_hub_kernels;  // USE_HUB_KERNELS
  /// KERNELMAP_POLICY: an upper bound of trust; nothing where the variable is not set.
  struct Policy {
    std::vector<std::string> trusted_publishers;  // sorted
    bool allow_all_kernels = false;
  };
  std::optional<Policy> policy;
  // The folder of the Hugging Face cache; it need not be there. "": there is no home folder.
  std::string kernel_cache;

  /// Whether Hub kernels may be used at all.
  bool HubEnabled() const;
};

/// Reads a policy's bytes; `name` is how messages call it. Nothing where there are errors.
std::optional<Environment::Policy> ReadPolicyText(const std::string& name, std::string bytes,
                                                  std::vector<Diagnostic>* diagnostics);

/// Reads the environment. Nothing, and diagnostics or a message, where the policy is broken: then
/// nothing may be trusted.
std::optional<Environment> ReadEnvironment(std::vector<Diagnostic>* diagnostics,
                                           std::string* error);

/// Reads a config's bytes; `name` is how messages call it. With an environment the config is also
/// held against its policy.
Loaded LoadConfigText(const std::string& name, std::string bytes,
                      const Environment* environment = nullptr);

/// Nothing, and a message, only where the file cannot be read.
std::optional<Loaded> LoadConfig(const std::string& path, std::string* error,
                                 const Environment* environment = nullptr);

/// Where a config asks for more trust than the policy of this machine allows.
void CheckPolicy(const Config& config, const Environment& environment, Diagnostics* diagnostics);

/// The plan of a config without errors (null: the built-in mapping alone).
Plan Resolve(const Config* config, const Target& target, const Environment& environment,
             const Store& store = EmptyStore);

/// All of it. `locked`: what the lock file (`lock_file`; "": the one beside the config) does not
/// have just so is an error.
/// `plan` is there unless there are errors; `exit_code` is then 1 for mistakes in the config, 2 for
/// wrong flags and files that cannot be read (`error` then says which).
struct Compiled {
  std::optional<Plan> plan;
  std::optional<Config> config;         // beside a plan, when there is one
  std::vector<Diagnostic> diagnostics;  // warnings too
  std::string lock_file;                // that the plan was held against
  std::string error;
  int exit_code = 0;
};
Compiled CompilePlan(const std::optional<std::string>& config_path, const TargetFlags& flags,
                     bool locked = false, const std::string& lock_file = "");

}  // namespace kernelmap
