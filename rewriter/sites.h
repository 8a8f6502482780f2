// What to do at each site of a model: every module whose class answers to a name of the plan, and
// every place whose code is proved to be a layer or function of the plan. Decides; changes nothing.
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/catalogue.h"
#include "compiler/plan.h"
#include "compiler/report.h"
#include "rewriter/expr/edit.h"
#include "rewriter/expr/execute.h"
#include "rewriter/expr/pattern.h"

namespace kernelmap {

/// A compiled reference or, with `implementation` set, the code that calls a kernel: a site that
/// has that already needs nothing.
struct SiteReference {
  expr::CompiledReference compiled;
  const Implementation* implementation = nullptr;
  std::string problem;  // why the kernel's code cannot be used; "" when it can
};

/// An attribute `training`, by the way to it from a module, and what it was when all was decided.
struct ModeFlag {
  std::vector<std::string> path;
  bool value = false;
  friend auto operator<=>(const ModeFlag&, const ModeFlag&) = default;
};

/// One change of one graph, and the kernel's code that goes there.
struct SiteEdit {
  expr::Edit edit;
  const Implementation* implementation = nullptr;
  std::shared_ptr<const Implementation> made;   // for this site, where only its name is trusted
  std::string reference_layer, reference_name;  // what matched
  std::vector<ModeFlag> modes = {};             // that its code is not right without
};

/// A parameter of a module: object of the program, and attribute.
struct ParameterPlace {
  int object = -1;
  std::string attribute;
  friend bool operator==(const ParameterPlace&, const ParameterPlace&) = default;
};

/// A parameter that the first member of a fusion gets: `layout` of those at `from`.
struct NewParameter {
  std::string name;
  Layout layout;
  std::map<std::string, ParameterPlace> from;  // by the paths of the layout
};

/// One fusion (rewriter/fusion.h). The first member's forward runs the kernel. Also a layer alone
/// whose kernel has a layout: the only member, without a parent.
struct FusionEdit {
  int parent = -1;           // objects of the program
  std::vector<int> members;  // in the fusion's order
  SiteEdit fused;            // in the first member's forward; one result a member with same_input
  bool same_input = false;
  std::vector<int> graphs;               // forward of each member
  std::vector<const expr::Node*> calls;  // of each member, in the parent's code
  int parent_graph = -1;                 // which holds the calls
  std::vector<NewParameter> parameters;
  bool shared_class = false;  // a member or its parent shares a class: it needs one of its own
  std::string reference, model_source;  // for the report
};

struct SiteDecisions {
  std::vector<Site> sites;
  std::vector<SiteEdit> edits;  // each once, in the order of the program
  std::vector<FusionEdit> fusions;
  int modules_run = 0;  // on samples, for guard = "numeric"
};

struct NamedEdit;    // rewriter/name_guard.h
struct TrialResult;  // rewriter/numeric_guard.h

using Trial = std::function<TrialResult(const PlanEntry&, const Kernel&, const expr::Frame&,
                                        const NamedEdit&)>;

struct SiteOptions {
  bool check = true;       // see expr::MatchOptions
  bool self_mode = false;  // any kernel will do: tests put the reference's own code in its place
  /// No module gets a class of its own any more: a fusion that would need that is refused.
  bool classes_are_split = false;
  /// Why code of a kernel that is not built in does not compile; "" when it may.
  std::string (*source_problem)(const std::string& source) = nullptr;
  /// For guard = "numeric": runs a module's code and a kernel (rewriter/numeric_trial.h).
  const Trial* trial = nullptr;
};

/// `references` of all layers that the plan names, in the catalogue's order.
SiteDecisions DecideSites(const Plan& plan, const Catalogue& catalogue,
                          const expr::Program& program, expr::Execution& execution,
                          const std::vector<SiteReference>& references,
                          const SiteOptions& options = {});

}  // namespace kernelmap
