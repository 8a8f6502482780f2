// The commands that read a model without libtorch. They print their own diagnostics to stderr and
// return the exit code: 0; 1 when the archive is malformed or no TorchScript archive; 2 when a file
// cannot be read or written.
#pragma once

#include <string>

#include "compiler/plan.h"

namespace kernelmap {

struct InspectOptions {
  std::string model;
  bool json = false;         // --format json, else text
  std::string output = "-";  // -o; "-" is standard output
};

/// kernelmap inspect MODEL
int Inspect(const InspectOptions& options);

/// For `plan --model`: gives `plan` the sites that the model's classes suggest.
int AddSitesOfModel(const std::string& model, Plan* plan);

}  // namespace kernelmap
