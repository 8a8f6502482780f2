// The commands of kernelmap-rewrite, for both programs: one runs them, the other names them.
#pragma once

#include <string_view>
#include <vector>

#include "cli/args.h"

namespace kernelmap {

struct RewriterCommand {
  std::string_view usage, help;
  std::vector<Option> options;
};

inline const RewriterCommand& ApplyCommand() {
  static const RewriterCommand command = {
      "apply [CONFIG] MODEL -o OUT [--report FILE] [--verify [--inputs FILE]] [--strict] "
      "[--locked | --lock FILE] [--depfile FILE] [--format text|json|html]",
      "rewrite a TorchScript archive, with a report",
      {Option::kTarget, Option::kOutput, Option::kReport, Option::kVerify, Option::kInputs,
       Option::kStrict, Option::kLocked, Option::kDepfile, Option::kPageFormat,
       Option::kRunArchiveCode}};
  return command;
}

inline const RewriterCommand& VerifyCommand() {
  static const RewriterCommand command = {
      "verify MODEL OUT [--inputs FILE] [--device D] [--trusted-publisher P] "
      "[--allow-all-kernels] [--local-kernel FOLDER] [--format text|json] [-o FILE]",
      "run both on the same inputs and compare the outputs",
      {Option::kInputs, Option::kDevice, Option::kKernels, Option::kFormat, Option::kOutput}};
  return command;
}

inline const RewriterCommand& BenchCommand() {
  static const RewriterCommand command = {
      "bench MODEL OUT [--inputs FILE] [--runs N] [--trusted-publisher P] "
      "[--allow-all-kernels] [--local-kernel FOLDER] [--format text|json] [-o FILE]",
      "run both, interleaved, and compare the times",
      {Option::kInputs, Option::kRuns, Option::kKernels, Option::kFormat, Option::kOutput}};
  return command;
}

}  // namespace kernelmap
