// What choosing a kernel asks of the place where kernels that are not built in lie: Hugging Face
// caches and folders (compiler/store/). Choosing depends on this alone, so tests can answer for it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/catalogue.h"
#include "compiler/languages.h"
#include "compiler/plan.h"

namespace kernelmap {

/// One kernel wanted for one layer or function on one target. It is trusted already.
struct StoreRequest {
  const KernelRef& ref;  // of the Hub, or local
  std::string label;     // the reference as outputs show it: a local one relative to the config
  std::string revision;  // of the Hub: "v1", "main", ">=2.0,<3.0"; whole numbers come as "v3"
  std::string layer;     // the name that is mapped: "RMSNorm"
  const Target& target;
  /// Why the publisher of another repository, which this one leads to or depends on, is not
  /// trusted; empty when it is.
  std::function<std::string(const std::string& repo)> distrust = {};
  /// With a lock: the repository that redirects end at, and the commit to take of it where it is
  /// there; "" without one.
  std::string locked_repo = {}, locked_commit = {};
};

/// What is there. A kernel: it can be used on the target as far as the files show. Else the reason:
/// `not_found`, `no_variant`, `python_only`, `bad_metadata`, ...
struct StoreAnswer {
  std::optional<KernelUse> kernel;     // ref, repo, revision (a commit), variant, name, digest
  std::shared_ptr<const Kernel> code;  // how it computes the layer: a binding, or its layers.py
  bool backward = true;                // as Python's `has_backward`, true unless it says no
  bool torch_compile = false;          // as Python's `can_torch_compile`
  bool deterministic = false;          // whether it is declared to be
  std::optional<Reason> reason;        // when there is no kernel
  /// The build that is there where only its code is of no use to TorchScript: a lock pins it too.
  std::optional<KernelUse> unusable;
  std::vector<TraceStep> steps;  // what was tried, in order, for the trace
};

using Store = std::function<StoreAnswer(const StoreRequest&)>;

/// What is in the Hugging Face cache in the folder `cache`, and in local folders. What it has read
/// once it does not read again, so it is for one plan.
Store DefaultStore(const std::string& cache);

/// A store without kernels: everything is `not_found`.
StoreAnswer EmptyStore(const StoreRequest& request);

}  // namespace kernelmap
