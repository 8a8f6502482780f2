// Whether a kernel takes what a proved site has, as its manifest says.
#pragma once

#include <optional>
#include <string>

#include "compiler/catalogue.h"
#include "compiler/plan.h"
#include "rewriter/expr/match.h"

namespace kernelmap {

/// The kernel that a plan's entry chose, built in or from the store; null when it chose none.
const Kernel* KernelOf(const PlanEntry& entry, const Catalogue& catalogue);

/// The kernel's code for a form of a layer; null where the kernel does not stand for it.
const Implementation* FindImplementation(const Kernel& kernel, const std::string& layer,
                                         const std::string& reference);

/// What is wrong with the operands that a reference's parameters are bound to: a dtype or a number
/// of dimensions that is not known, or that the kernel does not take.
std::optional<expr::Refusal> OperandMisfit(const Kernel& kernel,
                                           const Implementation& implementation,
                                           const expr::Arena& arena, const expr::Pattern& pattern,
                                           const expr::Binding& binding);

/// Why the code is not the layer although it looks like that form of it: an operand has another
/// number of dimensions. Where that is not known, the kernel's code asks.
std::optional<expr::Refusal> RankMisfit(const Layer* layer, const expr::Arena& arena,
                                        const expr::Pattern& pattern,
                                        const expr::Binding& binding);

}  // namespace kernelmap
