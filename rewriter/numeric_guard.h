// guard = "numeric": a kernel takes the place of a module's forward because both compute the same
// on sample inputs.
//
// before: forward(self, x) computes something, and returns a tensor or several
// after:  one of those tensors is what the kernel computes of x, parameters of the module and
//         numbers of its code
// conditions: the module's class answers to the name, and running both shows no difference
// (rewriter/numeric_trial.h). What the kernel's parameters stand for is guessed here: a wrong guess
// computes something else, so it does not pass.
#pragma once

#include <limits>
#include <variant>
#include <vector>

#include "rewriter/name_guard.h"

namespace kernelmap {

/// What running both showed. `error`: the largest over what is allowed; infinite where the results
/// could not be compared.
struct TrialResult {
  std::optional<expr::Refusal> refusal;
  double error = std::numeric_limits<double>::infinity();
};

/// The edits of `frame`'s graph that may be right, the likeliest first, each code that the kernel
/// may be called by; bounded. Else what does not fit: `signature`, `no_attribute`.
std::variant<std::vector<NamedEdit>, expr::Refusal> NumericCandidates(const Kernel& kernel,
                                                                      const std::string& layer_name,
                                                                      const Layer* layer,
                                                                      const expr::Program& program,
                                                                      const expr::Frame& frame);

}  // namespace kernelmap
