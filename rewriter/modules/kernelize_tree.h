// Kernels for a tree of torch::nn modules, by a plan.
//
// C++ code cannot be read back, so nothing is proved: a kernel stands for a layer whose class opts
// in (rewriter/modules/layer.h), and for the activations of libtorch where their parent is a
// torch::nn::Sequential, which alone calls its children in a way that lets them be replaced.
#pragma once

#include <torch/nn/module.h>

#include <functional>
#include <vector>

#include "rewriter/modules/kernelize.h"

namespace kernelmap {

/// What kernelize did to a tree, and the way back.
class KernelizedTree {
 public:
  /// A site is a module whose class, or what it says of itself, answers to a name of the plan, and
  /// the parent of a fusion. What stays stock has a reason: `no_opt_in` (the class does not opt
  /// in), `not_replaceable` (its parent calls it by its own type), `other_form`, `dtype`,
  /// `no_graph` (fusions), or the plan's. `already`: the layer has that kernel. `proof` is "name".
  const Report& report() const { return report_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// Takes the kernels away again: modules of Sequentials that were replaced come back themselves,
  /// parameters are the same all along. Once undone, it does nothing. The tree must still be there.
  void undo();

 private:
  friend KernelizedTree kernelize(torch::nn::Module& root, const Plan& plan,
                                  const KernelizeOptions& options);
  Report report_;
  std::vector<std::string> warnings_;
  std::vector<std::function<void()>> back_;
};

/// Gives the layers of the tree under `root` the kernels of a plan. Throws c10::Error where a layer
/// has another kernel already, where the plan says on_fallback = "error" and there is a fallback,
/// or where a kernel cannot be had; the tree is unchanged then. Not while the tree runs; afterwards
/// any number of threads may run it, as before. Dtypes of parameters are those that the module has
/// now: a kernel that does not take them is not used.
KernelizedTree kernelize(torch::nn::Module& root, const Plan& plan,
                         const KernelizeOptions& options = {});

}  // namespace kernelmap
