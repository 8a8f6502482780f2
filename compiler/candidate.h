// Step 4 of choosing a kernel: whether one candidate can be used.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/catalogue.h"
#include "compiler/compile.h"

namespace kernelmap {

/// What a candidate is judged against.
struct CandidateContext {
  std::string name;  // the layer or function that is mapped
  const Target& target;
  const Environment& environment;
  const Store& store;
  const Config* config = nullptr;  // null: the default mapping alone
  bool from_config = false;        // the candidate is the config's own, not inherited
  /// The mode that the candidate is mapped for. A kernel has to fit that too, as in Python: one
  /// that is mapped for training must have a backward pass, even where inference takes it.
  Mode mode{.fallback = true};
  /// Of a fusion: the names of its modules. A kernel needs a layout for them.
  std::vector<std::string> members = {};
};

struct CandidateResult {
  std::optional<KernelUse> kernel;     // when it can be used
  std::shared_ptr<const Kernel> code;  // of a kernel that is not built in
  std::optional<Reason> reason;        // when not
  bool turned_off = false;             // by USE_HUB_KERNELS
};

/// A reference as outputs show it: a local one relative to the config, so that plans do not depend
/// on where things lie.
std::string RefLabel(const KernelRef& ref, const Config* config);

/// The revision that a candidate of the Hub means for the name it is mapped for: what it says, else
/// what transformers takes. Empty for others.
std::string WantedRevision(const Candidate& candidate, const std::string& name);

/// Judges a kernel that is built in.
CandidateResult JudgeBuiltin(const Kernel& kernel, const Candidate& candidate,
                             const CandidateContext& context, std::vector<TraceStep>* trace);

/// Judges a candidate and appends each step to `trace`.
CandidateResult JudgeCandidate(const Candidate& candidate, const CandidateContext& context,
                               std::vector<TraceStep>* trace);

}  // namespace kernelmap
