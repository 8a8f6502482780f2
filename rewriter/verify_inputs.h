// What verify runs models on.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <optional>
#include <string>
#include <vector>

#include "rewriter/apply.h"

namespace kernelmap {

/// The tensors of a file that torch.save wrote: a tensor, or a tuple or list of tensors.
std::optional<ApplyError> ReadInputs(const std::string& path, std::vector<c10::IValue>* inputs);

/// An input as input.json describes it (VerifyOptions). `file` is named in errors.
std::optional<ApplyError> MakeInputs(const std::string& description,
                                     const torch::jit::Module& model, const std::string& file,
                                     std::vector<c10::IValue>* inputs);

}  // namespace kernelmap
