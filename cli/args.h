// The command line as data.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/compile.h"
#include "rewriter/modules/load_options.h"

namespace kernelmap {

/// What follows the command. Each command reads the ones it takes; others are refused before.
struct Args {
  std::vector<std::string> inputs;  // CONFIG…, CODE, NAME, MODEL
  std::string format = "text";
  std::string output = "-";
  bool strict = false;
  bool locked = false;
  bool all_variants = false;               // of fetch
  std::vector<std::string> targets;        // of lock, fetch and diff: DEVICE[:CAPABILITY]
  std::optional<std::string> lock_output;  // of lock; nothing: beside the config
  std::string lock_file;                   // with `locked`; "": beside the config
  bool prove = false;
  std::optional<std::string> model, report, depfile, inputs_file;
  std::optional<std::string> verified;  // of report
  bool verify = false;
  bool run_archive_code = false;
  int runs = 20;
  LoadOptions kernels;  // of models that are run
  TargetFlags target;
  struct {
    bool exit_code = false;
    std::vector<std::string> fail_on;  // fallback, trust
    bool git_driver = false;
  } diff;
  struct {
    std::optional<std::string> from;  // a config
    bool force = false;
  } init;
  struct {
    bool check = false, diff = false;
  } fmt;
};

/// The options a command takes beside its inputs.
enum class Option {
  kFormat,
  kPageFormat,
  kReportFormat,
  kCheckFormat,
  kOutput,
  kStrict,
  kProve,
  kModel,
  kTarget,
  kReport,
  kVerify,
  kDepfile,
  kInputs,
  kDevice,
  kRunArchiveCode,
  kRuns,
  kLocked,
  kLock,
  kKernels,
  kFetch,
  kDiff,
  kInit,
  kFmt,
};

struct Command {
  std::string_view name;
  std::string_view usage;  // "check CONFIG… [--strict]"
  std::string_view help;   // one line
  size_t min_inputs = 0, max_inputs = 0;
  std::vector<Option> options;
  /// Returns the exit code. Null: the command is kernelmap-rewrite's.
  int (*run)(const Args& args) = nullptr;
};

/// An option as people write it.
struct OptionInfo {
  std::string name;  // "--format", "-o"
  std::string help;  // one line
  bool takes_value = false;
  std::vector<std::string> choices;  // of its value; empty: anything
};

/// The options of a command, in the order of its --help, which is the first.
std::vector<OptionInfo> OptionsOf(const Command& command);

/// Parses `words`, what stands after the command's name. Nothing where they are wrong or ask for
/// help; `exit_code` is then the program's, and the message is printed.
std::optional<Args> ParseArgs(const Command& command, const std::vector<std::string>& words,
                              int* exit_code);

}  // namespace kernelmap
