// The sites of a plan as far as the module tree shows them.
#pragma once

#include <string>

#include "compiler/archive/module_tree.h"
#include "compiler/plan.h"

namespace kernelmap {

/// Gives `plan` a site for each module whose class answers to a mapped name, in the tree's order:
///   candidate  the entry has a kernel; whether the code lets it in is what only proving shows
///   disabled   the entry is `""`, or switched off
///   excluded   the path is outside the entry's `only` and `except`
///   fallback   the entry has no kernel, with its reason
/// A module that only a hint of the catalogue suggests is a site where the config itself maps the
/// name, or as a candidate. A module that answers to several names is under the first of them, the
/// others are in `also`: proving may settle on one of those.
///
/// The parents of a fusion's modules are sites too: fusion_sites.h.
///
/// Functions (rotary_pos_emb, attention) have no class, so their sites are not found here.
void AddModelSites(const ModuleTree& tree, Plan* plan);

/// What AddModelSites could not decide, for people: a line, or nothing when the plan maps no
/// function.
std::string UnprovedNote(const Plan& plan);

}  // namespace kernelmap
