// One name or site on each side: what differs.
#pragma once

#include <string>
#include <vector>

#include "compiler/diff/diff.h"

namespace kernelmap {

DiffState StateOf(const PlanEntry& entry);
DiffState StateOf(const Site& site);

/// The fields of two states that differ, in a fixed order: name, action, kernel, repo, revision,
/// variant, digest, trust, mode, guard, only, except, members, class, proof, reason.
std::vector<std::string> FieldsThatDiffer(const DiffState& before, const DiffState& after);

/// Of those the kernel's alone, which is all that a plan without proofs and a report both know of a
/// site.
std::vector<std::string> KernelFieldsThatDiffer(const std::optional<KernelUse>& before,
                                                const std::optional<KernelUse>& after);

/// Whether a reason is found in the model's code, so that no config or store shows it.
bool DecidedByModel(std::string_view reason);

/// A kernel of a folder: where that lies is not compared, what is in it is.
bool IsLocal(const KernelUse& kernel);

}  // namespace kernelmap
