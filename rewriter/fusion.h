// Decides one fusion: whether a kernel may stand for several modules of one parent, and how.
//
// before: y = norm(x); z = mlp(y)              q = q_proj(x); k = k_proj(x); v = v_proj(x)
// after:  y = norm(x)  the fused kernel        (q', k', v') = q_proj(x)  the fused kernel
//         z = mlp(y)   hands on what it gets   k = k_proj(k'); v = v_proj(v')  hand on
// conditions: each member is proved to be its layer; it is called once, by the parent, and what it
// computes goes to the next member alone (left), or all take the same input (right); nothing that
// they read or compute is written in place; no other code runs theirs.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <variant>
#include <vector>

#include "compiler/plan.h"
#include "rewriter/sites.h"

namespace kernelmap {

/// What the decisions on a model share.
struct FusionContext {
  const Plan& plan;
  const Catalogue& catalogue;
  const expr::Program& program;
  expr::Execution& execution;
  const std::vector<SiteReference>& references;
  expr::Matcher& matcher;
  const std::map<int, std::vector<int>>& frames_of_object;  // of methods forward, forward1, …
  const std::unordered_set<int>& unseen;                    // graphs that may run unseen
  const std::set<int>& claimed;                             // objects that other fusions took
  bool classes_are_split = false;                           // see SiteOptions
};

/// The edit; nothing where the modules are what the kernel would make of them; or why not.
using FusionDecision = std::variant<FusionEdit, std::monostate, expr::Refusal>;
FusionDecision DecideFusion(const FusionContext& context, const PlanEntry& entry, const Site& site);

/// Decides a candidate of FusionSites: completes `site` and, where it is or was fused, adds the
/// edit to `edits` and, to `fused`, the objects that then run only as part of it.
void DecideFusionSite(const FusionContext& context, Site& site, std::set<int>& fused,
                      std::vector<FusionEdit>& edits);

}  // namespace kernelmap
