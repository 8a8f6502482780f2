// What to do at each site of a model: every module whose class answers to a name of the plan, and
// every place whose code is proved to be a layer or function of the plan. Decides; changes nothing.
#pragma once

#include <memory>
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

/// One change of one graph, and the kernel's code that goes there.
struct SiteEdit {
  expr::Edit edit;
  const Implementation* implementation = nullptr;
  std::shared_ptr<const Implementation> made;   // for this site, where only its name is trusted
  std::string reference_layer, reference_name;  // what matched
};

struct SiteDecisions {
  std::vector<Site> sites;
  std::vector<SiteEdit> edits;  // each once, in the order of the program
};

struct SiteOptions {
  bool check = true;       // see expr::MatchOptions
  bool self_mode = false;  // any kernel will do: tests put the reference's own code in its place
  /// Why code of a kernel that is not built in does not compile; "" when it may.
  std::string (*source_problem)(const std::string& source) = nullptr;
};

/// `references` of all layers that the plan names, in the catalogue's order.
SiteDecisions DecideSites(const Plan& plan, const Catalogue& catalogue,
                          const expr::Program& program, expr::Execution& execution,
                          const std::vector<SiteReference>& references,
                          const SiteOptions& options = {});

}  // namespace kernelmap
