// The commands that read a model without libtorch. They print their own diagnostics to stderr and
// return the exit code: 0; 1 when the archive is malformed or no TorchScript archive; 2 when a file
// cannot be read or written.
#pragma once

#include <optional>
#include <string>

#include "compiler/archive/module_tree.h"
#include "compiler/compile.h"

namespace kernelmap {

struct InspectOptions {
  std::string model;
  bool json = false;         // --format json, else text
  std::string output = "-";  // -o; "-" is standard output
};

/// kernelmap inspect MODEL
int Inspect(const InspectOptions& options);

/// The modules of a model. Nothing, the exit code and the message (which is printed) where it
/// cannot be read.
std::optional<ModuleTree> ReadTree(const std::string& model, int* exit_code,
                                   std::string* message = nullptr);

/// For `plan --model`: gives the plan the sites that the model's classes suggest, and prints what
/// of the config's patterns matches nothing.
int AddSitesOfModel(const std::string& model, Compiled* compiled);

}  // namespace kernelmap
