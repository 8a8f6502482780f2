// What `kernelmap doctor` finds: facts of this machine, each with where it comes from and, where it
// keeps a kernel from loading, what is wrong and the fix. Plain data. Nothing asks the network, and
// no token is ever in it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/store/cache_path.h"

namespace kernelmap {

enum class FindingStatus { kOk, kWarning, kError };

struct Finding {
  std::string group;    // "torch", "devices", ...
  std::string name;     // "version": with the group a stable word
  std::string value;    // "" where there is none
  std::string from;     // the variable or file that it comes from; "" where there is none
  std::string problem;  // "" where all is well
  std::string help;     // what to do about the problem
  FindingStatus status = FindingStatus::kOk;

  Finding& Problem(FindingStatus how, std::string what, std::string fix);
};
using Findings = std::vector<Finding>;

/// The variable's value; "" where it is not set.
std::string EnvText(const GetEnv& get_env, const char* name);

/// The parts of the report, in its order.
void FindProgram(const GetEnv& get_env, Findings* findings);
void FindTorch(const GetEnv& get_env, Findings* findings);
void FindDevices(const GetEnv& get_env, Findings* findings);
void FindStore(const GetEnv& get_env, Findings* findings);
void FindHub(const GetEnv& get_env, Findings* findings);
/// The environment; nothing where the policy is broken.
std::optional<Environment> FindTrust(const GetEnv& get_env, Findings* findings);
/// What the config maps and this machine cannot give. The config's own mistakes are printed;
/// `exit_code` is that of a config that has some, or cannot be read.
void FindForConfig(const std::string& path, Findings* findings, int* exit_code);

/// kernelmap-doctor/1, ending in a newline.
std::string FindingsToJson(const Findings& findings);
std::string FindingsToText(const Findings& findings);

}  // namespace kernelmap
