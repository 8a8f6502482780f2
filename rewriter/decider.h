// Decides the sites of a model, one module after the other. The parts of one class: names and
// layers (sites.cpp), functions (sites_functions.cpp), decisions on what matched
// (sites_decide.cpp), guards that prove less (sites_guards.cpp).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <variant>
#include <vector>

#include "compiler/fusion_sites.h"
#include "rewriter/expr/match.h"
#include "rewriter/fusion.h"
#include "rewriter/sites.h"

namespace kernelmap {

// A site on its way to a decision.
struct SiteCandidate {
  Site site;
  int frame = -1;
  bool hint_only = false;          // nothing matched, and only a hint says that the class may be it
  std::vector<SiteEdit> edits;     // one a graph that holds the code
  std::optional<FusionEdit> made;  // instead of those, where the kernel's parameters are made
};

class Decider {
 public:
  Decider(const Plan& plan, const Catalogue& catalogue, const expr::Program& program,
          expr::Execution& execution, const std::vector<SiteReference>& references,
          const SiteOptions& options);
  SiteDecisions Run();

 private:
  static std::vector<expr::Pattern> Patterns(const std::vector<SiteReference>& references,
                                             expr::Arena& arena);
  // Names in the order in which a site takes them: those of the config, then the longest.
  void IndexPatterns();
  void IndexFrames();
  SiteCandidate NewSite(const expr::ModulePath& module, const std::string& name);
  // The sites of fusions, by their parents. Of several that want a module, the first gets it.
  std::map<std::string, std::vector<Site>> Fusions(std::vector<FusionEdit>& edits);
  static void Refuse(SiteCandidate& c, const std::string& code, const std::string& difference = "");
  void Visit(const expr::ModulePath& module);
  bool VisitLayer(const expr::ModulePath& module, const std::vector<int>& frames,
                  const std::vector<Answer>& all, const std::set<const PlanEntry*>& answers,
                  const std::vector<const PlanEntry*>& named);
  // Where the name is trusted, what is not proved is replaced too.
  void TakeName(SiteCandidate& c, const std::vector<int>& frames);
  // Where running both is enough, what computes the same is replaced too.
  void TakeNumeric(SiteCandidate& c, const std::vector<int>& frames);
  // The first of the candidates that passes for a frame; else why the closest does not.
  std::variant<SiteEdit, expr::Refusal> TryFrame(const PlanEntry& entry, const Kernel& kernel,
                                                 const expr::Frame& frame,
                                                 const std::vector<NamedEdit>& candidates);
  bool CallsOp(int graph, const std::string& op) const;
  // A module without a name that only hands on what a module in it computes: that one is the site.
  bool OnlyCalls(int frame, int pattern);
  // Called only where the code was not followed.
  bool RunsUnseen(int object) const;
  std::string NoMatchCode(int object, const std::vector<int>& frames,
                          const expr::Refusal& refusal) const;
  void VisitFunctions(const expr::ModulePath& module, const std::vector<int>& frames);
  expr::Match PreferForm(const expr::Match& found);
  // The modules whose parameters a function across calls takes.
  void AddMembers(SiteCandidate& c, const expr::Ids& operands, int object) const;
  // They are called no more, unless other modules call them too.
  void Claim(const expr::Ids& operands, int object);
  // Operations that are what the kernel's own code would be.
  void AddFunctionsDone(const expr::ModulePath& module, int frame,
                        std::map<std::string, int>& count);
  std::set<std::string> KernelOperations(const std::string& name);
  // Whether the module's class tells of a function that the config itself maps, and none in it
  // does.
  bool IsHinted(const expr::ModulePath& module, const PlanEntry& entry) const;
  // Such a module, where its code holds none.
  void ReportUnmatchedFunction(const expr::ModulePath& module, const std::vector<int>& frames,
                               const PlanEntry& entry, std::size_t start);
  // What only a hint announced is no site where a module inside it is the one.
  void DropHintsOfOthers();
  // The plan's decision on the site's name; `otherwise` where the plan has a kernel for it.
  void SetDecision(SiteCandidate& c, Action otherwise);
  static void Exclude(SiteCandidate& c);
  void DecideMatch(SiteCandidate& c, const expr::Match& match);
  // Where the kernel's own code is what the model has: it runs one operation of torch itself.
  bool IsKernelCode(const Implementation& implementation, const expr::Match& match);
  std::string ProblemOf(const Implementation& implementation) const;
  // Parameters of the kernel are made of the module's (sites_layout.cpp).
  void MakeParameters(SiteCandidate& c, const expr::Match& match,
                      const Implementation& implementation, expr::Edit edit);
  void IndexParameters();
  std::optional<expr::Refusal> UsedElsewhere(const expr::Match& match, const FusionEdit& made);
  // The path of an attribute, as named_parameters() gives it.
  std::string PathOf(const ParameterPlace& place) const;
  bool IsInside(int frame, int object) const;
  FusionContext Context();
  // Code that several modules run is changed only where the change is the same for all.
  void RefuseSharedCode();
  bool SharedEverywhere(const expr::Edit& edit,
                        const std::map<int, std::vector<const expr::Edit*>>& by_object) const;
  static std::vector<std::string> Others(const std::vector<Answer>& all, const std::string& chosen);
  std::string SourceOf(int frame, expr::Id id) const;
  std::string FirstSource(int frame) const;
  const Plan& plan_;
  const Catalogue& catalogue_;
  const expr::Program& program_;
  expr::Execution& execution_;
  const std::vector<SiteReference>& references_;
  const SiteOptions& options_;
  expr::Matcher matcher_;
  std::vector<const PlanEntry*> layers_, functions_;
  std::map<std::string, std::vector<int>> by_name_, kernel_code_;
  std::vector<int> function_patterns_;
  std::map<int, std::vector<int>> frames_of_object_, frames_of_graph_;
  // Made when they are first asked for (sites_layout.cpp): the frames that read a parameter, and
  // who holds a tensor.
  std::optional<std::map<expr::Id, std::set<int>>> frames_of_parameter_;
  std::map<std::uint64_t, std::vector<ParameterPlace>> places_of_storage_;
  std::unordered_set<int> unseen_;  // graphs that may run in a way that was not executed
  std::set<int> fused_;             // objects that run as part of a fusion
  std::vector<SiteCandidate> candidates_;
  int modules_run_ = 0;
};

}  // namespace kernelmap
