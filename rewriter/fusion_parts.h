// Parts of deciding a fusion (rewriter/fusion.h): how its members are used, and what the kernel's
// code then reads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rewriter/fusion.h"

namespace kernelmap {

/// What is proved of one call of the parent: each member's code is that of its layer.
struct MemberProof {
  const std::vector<std::string>& paths;
  int parent = -1;          // frame
  std::vector<int> frames;  // of the members
  std::vector<expr::Match> matches;
  const Implementation* implementation = nullptr;
};

/// A refusal whose difference names a member.
expr::Refusal RefusalOf(const std::string& path, const std::string& code, const std::string& why,
                        const std::string& source = "");

/// Whether the parent's code uses the members as the kernel does. Sets the calls of `edit`.
std::optional<expr::Refusal> CheckUses(const FusionContext& context, const MemberProof& proof,
                                       FusionEdit& edit);

/// Whether other code calls a member: code that was not executed. Where a class is shared, nothing
/// can be said yet.
std::optional<expr::Refusal> CheckCallers(const FusionContext& context,
                                          const std::vector<std::string>& paths,
                                          const FusionEdit& edit);

/// The operands of the kernel's code for `fused`, and the new parameters for `edit`. `stock`: the
/// operands of the first member's reference.
std::optional<expr::Refusal> MakeOperands(const FusionContext& context, const MemberProof& proof,
                                          const std::vector<expr::Operand>& stock, FusionEdit& edit,
                                          expr::Edit& fused);

}  // namespace kernelmap
