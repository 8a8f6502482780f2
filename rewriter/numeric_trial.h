// Runs a module's stock code and a kernel on the same sample inputs, and compares what they give.
//
// The stock code is that of the module in the archive, with copies of its own parameters; nothing
// else of the model runs. The kernel's code is that which would be inserted. What passes is shown
// on samples (rewriter/numeric_samples.h), not proved: samples do not take every branch.
//
// For training both are run after train() and after eval(), with other numbers in the parameters,
// and the gradients of inputs and parameters are compared too.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "compiler/plan.h"
#include "rewriter/numeric_guard.h"
#include "rewriter/numeric_samples.h"
#include "rewriter/torchscript/import.h"

namespace kernelmap {

/// The trials of one import of a model. Needs gradients off for nothing: it turns them off itself.
class NumericTrials {
 public:
  NumericTrials(const Plan& plan, const torchscript::Imported& imported, const expr::Arena& arena,
                bool trains);
  ~NumericTrials();

  /// Whether `named` gives what the stock code of `frame` gives. Loads the kernel's library where
  /// it has one. Reasons: `dtype`, `not_run`, `not_finite`, `random_result`, `mutation`,
  /// `different_result`.
  TrialResult Try(const PlanEntry& entry, const Kernel& kernel, const expr::Frame& frame,
                  const NamedEdit& named);

 private:
  struct Stock;    // what the stock code of a frame gave
  struct Program;  // code that can run
  const Stock& StockOf(const expr::Frame& frame);
  const Program& ProgramOf(const PlanEntry& entry, const Kernel& kernel,
                           const Implementation& implementation);

  const Plan& plan_;
  const torchscript::Imported& imported_;
  const expr::Arena& arena_;
  const bool trains_;
  std::map<const expr::Frame*, std::unique_ptr<Stock>> stock_;
  std::map<std::string, std::unique_ptr<Program>> programs_;  // by source
};

}  // namespace kernelmap
