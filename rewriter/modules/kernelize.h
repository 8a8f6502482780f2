// Kernels for a model in memory, by a plan.
//
//   #include "compiler/compile.h"
//   #include "rewriter/modules/kernelize.h"
//
//   const kernelmap::Compiled config = kernelmap::CompilePlan("config.toml", {.mode = "training"});
//   if (!config.plan) …  // config.diagnostics and config.error say why
//   torch::jit::Module model = torch::jit::load("model.pt");
//   const kernelmap::Kernelized kernels = kernelmap::kernelize(model, *config.plan);
//   std::puts(kernelmap::ReportToText(kernels.report()).c_str());
//   model.forward({ids});
//   kernels.undo(model);
//
// A program links libkernelmap_inprocess.so, and libkernelmap_runtime.so with it. For torch::nn
// trees see rewriter/modules/kernelize_tree.h.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <optional>
#include <string>
#include <vector>

#include "compiler/plan.h"
#include "compiler/report.h"
#include "rewriter/modules/load_options.h"

namespace kernelmap {

struct KernelizeOptions {
  /// What the report calls the model.
  std::string name = "module";
  /// For kernels that are not built in; nothing: what the plan trusted when it chose them.
  std::optional<LoadOptions> kernels = std::nullopt;
};

/// What kernelize did, and the way back. Holds the stock module, whose parameters are those of the
/// rewritten one; what fusions made of them takes memory beside.
class Kernelized {
 public:
  /// As `kernelmap apply` reports on an archive of the model.
  const Report& report() const { return report_; }
  /// The same plan had been applied before: nothing was changed, and undo changes nothing.
  bool already_applied() const { return already_applied_; }
  /// A sentence for each kernel that could not be had and that stock code stands for.
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// Parameters that fusions made, by their names in the rewritten module. Training them does not
  /// train the stock module: undo loses it.
  std::vector<std::string> made_parameters() const;

  /// Makes `module` the stock module again: its code, its attributes (the mode of train() and
  /// eval() too) and its very parameters, with the values they have by now. Once undone, it does
  /// nothing. Throws c10::Error, and changes nothing, where `module` is not the rewritten one.
  void undo(torch::jit::Module& module) const;

 private:
  friend Kernelized kernelize(torch::jit::Module& module, const Plan& plan,
                              const KernelizeOptions& options);
  Report report_;
  bool already_applied_ = false;
  std::vector<std::string> warnings_;
  torch::jit::Module stock_, rewritten_;
};

/// Rewrites `module` by a plan, as `kernelmap apply` rewrites an archive: the same decisions, the
/// same report. `module` becomes another module with the same parameters (shared, not copied),
/// buffers and attributes; other handles to the stock module, and modules that hold it, keep the
/// stock code. So the module may have run before. It may be trained, saved (a program that loads
/// it needs libkernelmap_runtime.so) and run by any number of threads, like any other. Optimizers
/// go on with the parameters they have, but for those that fusions replace.
///
/// Where the same plan was applied already, nothing changes. Throws c10::Error where another plan
/// was, where the plan says on_fallback = "error" and there is a fallback, where a kernel cannot be
/// had, or where TorchScript refuses the result; `module` is unchanged then.
///
/// One call at a time works, others wait. The new classes are registered in the module's
/// compilation unit, and stay as long as any module of it does. Loads op libraries of the Hub that
/// the plan chose, after checking trust and digests, so the plan must come from a config that is
/// trusted. Dtypes: as the kernels of the plan say; what does not fit stays stock, with a reason.
Kernelized kernelize(torch::jit::Module& module, const Plan& plan,
                     const KernelizeOptions& options = {});

}  // namespace kernelmap
