#include "rewriter/sites.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "compiler/fusion_sites.h"
#include "compiler/reasons.h"
#include "rewriter/expr/match.h"
#include "rewriter/kernel_fit.h"
#include "rewriter/name_guard.h"

namespace kernelmap {
namespace {

using expr::Edit;
using expr::Frame;
using expr::Id;
using expr::Match;
using expr::Refusal;

// A site on its way to a decision.
struct Candidate {
  Site site;
  int frame = -1;
  std::vector<SiteEdit> edits;  // one a graph that holds the code
};

class Decider {
 public:
  Decider(const Plan& plan, const Catalogue& catalogue, const expr::Program& program,
          expr::Execution& execution, const std::vector<SiteReference>& references,
          const SiteOptions& options)
      : plan_(plan),
        catalogue_(catalogue),
        program_(program),
        execution_(execution),
        references_(references),
        options_(options),
        matcher_(program, execution, Patterns(references, execution.arena),
                 {.check = options.check}) {
    IndexPatterns();
    IndexFrames();
    unseen_ = expr::UnseenGraphs(program_, execution_);
  }

  SiteDecisions Run() {
    std::map<std::string, std::vector<Site>> fusions = Fusions();
    for (const expr::ModulePath& module : program_.modules) {
      Visit(module);
      for (Site& site : fusions[module.path]) candidates_.push_back({std::move(site), -1, {}});
      fusions.erase(module.path);
    }
    RefuseSharedCode();
    SiteDecisions decisions;
    for (Candidate& c : candidates_) {
      for (SiteEdit& e : c.edits) {
        const auto known = std::find_if(decisions.edits.begin(), decisions.edits.end(),
                                        [&](const SiteEdit& d) { return d.edit.SameAs(e.edit); });
        if (known == decisions.edits.end()) {
          decisions.edits.push_back(e);
        } else {
          known->edit.needs_contiguous |= e.edit.needs_contiguous;
        }
      }
      decisions.sites.push_back(std::move(c.site));
    }
    return decisions;
  }

 private:
  static std::vector<expr::Pattern> Patterns(const std::vector<SiteReference>& references,
                                             expr::Arena& arena) {
    std::vector<expr::CompiledReference> compiled;
    for (const SiteReference& r : references) compiled.push_back(r.compiled);
    return expr::MakePatterns(compiled, arena);
  }

  // Names in the order in which a site takes them: those of the config, then the longest.
  void IndexPatterns() {
    for (const PlanEntry& entry : plan_.entries) {
      const Layer* layer = catalogue_.FindLayer(entry.name);
      if (layer) (layer->function ? functions_ : layers_).push_back(&entry);
    }
    const auto before = [](const PlanEntry* a, const PlanEntry* b) {
      if (a->from_config != b->from_config) return a->from_config;
      if (a->name.size() != b->name.size()) return a->name.size() > b->name.size();
      return a->name < b->name;
    };
    std::sort(layers_.begin(), layers_.end(), before);
    std::sort(functions_.begin(), functions_.end(), before);
    const auto& patterns = matcher_.patterns();
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      const bool is_kernel = references_[i].implementation != nullptr;
      (is_kernel ? kernel_code_ : by_name_)[patterns[i].reference.layer].push_back(
          static_cast<int>(i));
    }
    for (const PlanEntry* entry : functions_) {
      for (const int i : by_name_[entry->name]) function_patterns_.push_back(i);
    }
    // The largest first: a part of a larger function is not a site of its own.
    std::stable_sort(function_patterns_.begin(), function_patterns_.end(),
                     [&](int a, int b) { return patterns[a].size > patterns[b].size; });
  }

  void IndexFrames() {
    for (std::size_t i = 0; i < execution_.frames.size(); ++i) {
      const Frame& f = execution_.frames[i];
      frames_of_graph_[f.graph].push_back(static_cast<int>(i));
      if (f.object < 0) continue;
      // A module that is called several times while it is traced has forward, forward1, ….
      if (program_.graphs[f.graph].name.starts_with("forward")) {
        frames_of_object_[f.object].push_back(static_cast<int>(i));
      }
    }
  }

  Candidate NewSite(const expr::ModulePath& module, const std::string& name) {
    Candidate c;
    c.site.path = module.path;
    c.site.class_name = program_.objects[module.object].class_name;
    c.site.name = name;
    if (const PlanEntry* entry = plan_.Find(name)) {
      c.site.kernel = entry->kernel;
      c.site.source = entry->source;
    }
    return c;
  }

  std::map<std::string, std::vector<Site>> Fusions() const {
    std::vector<ModuleInfo> modules;
    for (const expr::ModulePath& module : program_.modules) {
      modules.push_back({module.path, program_.objects[module.object].class_name});
    }
    return FusionSites(plan_, modules);
  }

  static void Refuse(Candidate& c, const std::string& code, const std::string& difference = "") {
    c.site.action = Action::kFallback;
    c.site.reason = Reason{code, std::string(ReasonText(code)), difference};
    c.site.proof.clear();
    c.edits.clear();
  }

  void Visit(const expr::ModulePath& module) {
    const std::vector<Answer> all = AnswersFor(plan_, program_.objects[module.object].class_name);
    std::vector<const PlanEntry*> named;  // reported whatever their code is
    std::set<const PlanEntry*> answers;
    for (const Answer& a : all) {
      answers.insert(a.entry);
      if (!a.hinted || a.entry->from_config) named.push_back(a.entry);
    }
    const std::vector<int>& frames = frames_of_object_[module.object];
    const std::size_t start = candidates_.size();
    const bool layer_found = VisitLayer(module, frames, all, answers, named);
    if (!layer_found) {
      VisitFunctions(module, frames);
      for (const PlanEntry* entry : named) ReportUnmatchedFunction(module, frames, *entry, start);
    }
  }

  bool VisitLayer(const expr::ModulePath& module, const std::vector<int>& frames,
                  const std::vector<Answer>& all, const std::set<const PlanEntry*>& answers,
                  const std::vector<const PlanEntry*>& named) {
    std::vector<const PlanEntry*> order;
    for (const Answer& a : all) order.push_back(a.entry);
    for (const PlanEntry* entry : layers_) {
      if (!answers.contains(entry)) order.push_back(entry);
    }
    const auto layer_named = std::find_if(named.begin(), named.end(), [&](const PlanEntry* e) {
      const Layer* layer = catalogue_.FindLayer(e->name);
      return !layer || !layer->function;
    });
    std::vector<int> patterns, kernel_code;
    for (const PlanEntry* entry : order) {
      const Layer* layer = catalogue_.FindLayer(entry->name);
      if (!layer || layer->function) continue;
      for (const int i : by_name_[entry->name]) patterns.push_back(i);
      for (const int i : kernel_code_[entry->name]) kernel_code.push_back(i);
    }
    std::optional<Match> match;
    Refusal refusal;
    if (!frames.empty() && !patterns.empty()) {
      // A module that answers to no name is searched without collecting why nothing fits.
      match = matcher_.MatchLayer(frames[0], patterns, all.empty() ? nullptr : &refusal);
      if (!match && !kernel_code.empty()) {
        if (const auto done = matcher_.MatchLayer(frames[0], kernel_code, nullptr)) {
          Candidate c = NewSite(module, matcher_.patterns()[done->pattern].reference.layer);
          c.site.also = Others(all, c.site.name);
          SetDecision(c, Action::kAlready);
          c.site.model_source = SourceOf(frames[0], done->outputs[0]);
          candidates_.push_back(std::move(c));
          return true;
        }
      }
    }
    if (match && all.empty() && OnlyCalls(frames[0], match->pattern)) match.reset();
    if (!match && layer_named == named.end()) return false;
    Candidate c = NewSite(
        module, match ? matcher_.patterns()[match->pattern].reference.layer : (*layer_named)->name);
    c.site.also = Others(all, c.site.name);
    c.frame = frames.empty() ? -1 : frames[0];
    if (match) {
      c.site.model_source = SourceOf(frames[0], match->outputs[0]);
      DecideMatch(c, *match);
      // Another call of the module must come out the same.
      for (std::size_t i = 1; i < frames.size() && !c.edits.empty(); ++i) {
        const auto again = matcher_.MatchLayer(frames[i], {match->pattern}, nullptr);
        Candidate other = NewSite(module, c.site.name);
        if (again) DecideMatch(other, *again);
        if (other.edits.empty()) {
          Refuse(c, "shared_code");
        } else if (!other.edits[0].edit.SameAs(c.edits[0].edit)) {
          if (other.edits[0].edit.graph == c.edits[0].edit.graph) {
            Refuse(c, "shared_code");
          } else {
            c.edits.push_back(other.edits[0]);
          }
        }
      }
    } else {
      c.site.model_source = refusal.source.empty() ? FirstSource(c.frame) : refusal.source;
      SetDecision(c, Action::kFallback);
      const PlanEntry* entry = plan_.Find(c.site.name);
      if (c.site.action == Action::kFallback && !(entry && entry->reason)) {
        Refuse(c, NoMatchCode(module.object, frames, refusal), refusal.difference);
      }
    }
    if (layer_named != named.end()) TakeName(c, frames);
    candidates_.push_back(std::move(c));
    return true;
  }

  // Where the name is trusted, what is not proved is replaced too.
  void TakeName(Candidate& c, const std::vector<int>& frames) {
    const PlanEntry* entry = plan_.Find(c.site.name);
    const Kernel* kernel = entry ? KernelOf(*entry, catalogue_) : nullptr;
    const bool wanted = kernel && entry->guard == "name" && c.site.action == Action::kFallback;
    if (!wanted || frames.empty()) return;
    std::vector<SiteEdit> edits;
    for (const int frame : frames) {
      auto result = ReplaceByName(*kernel, entry->name, catalogue_.FindLayer(entry->name), program_,
                                  execution_.frames[frame]);
      if (const auto* refusal = std::get_if<Refusal>(&result)) {
        return Refuse(c, refusal->code, refusal->difference);
      }
      NamedEdit& named = std::get<NamedEdit>(result);
      const std::optional<Adapter>& adapter = named.implementation->adapter;
      if (adapter && CallsOp(named.edit.graph, "kernelmap_hub::" + adapter->op)) {
        return SetDecision(c, Action::kAlready);
      }
      const std::string problem = adapter && options_.source_problem && edits.empty()
                                      ? options_.source_problem(adapter->forward)
                                      : "";
      if (!problem.empty()) return Refuse(c, "python_only", problem);
      const bool known = std::any_of(edits.begin(), edits.end(),
                                     [&](const SiteEdit& e) { return e.edit.SameAs(named.edit); });
      if (known) continue;
      edits.push_back(
          {named.edit, named.implementation.get(), named.implementation, entry->name, ""});
    }
    SetDecision(c, Action::kReplaced);
    c.site.reason.reset();
    c.site.reference.clear();
    c.site.proof = "name";
    c.edits = std::move(edits);
  }

  bool CallsOp(int graph, const std::string& op) const {
    const std::vector<expr::Node>& nodes = program_.graphs[graph].body.nodes;
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](const expr::Node& node) { return node.op == op; });
  }

  // A module without a name that only hands on what a module in it computes: that one is the site.
  bool OnlyCalls(int frame, int pattern) {
    const Frame& f = execution_.frames[frame];
    const expr::Block& body = program_.graphs[f.graph].body;
    const expr::Node* node =
        body.outputs.empty() ? nullptr : matcher_.Index(f.graph).Definition(body.outputs[0]);
    const auto callee = f.callees.find(node);
    return node && node->op == "prim::CallMethod" && callee != f.callees.end() &&
           matcher_.MatchLayer(callee->second, {pattern}, nullptr).has_value();
  }

  // Called only where the code was not followed.
  bool RunsUnseen(int object) const {
    const auto& methods = program_.objects[object].methods;
    const auto it = methods.find("forward");
    return it != methods.end() && unseen_.contains(it->second);
  }

  std::string NoMatchCode(int object, const std::vector<int>& frames,
                          const Refusal& refusal) const {
    if (execution_.autocast) return "autocast";
    if (frames.empty() && execution_.too_large) return "too_large";
    if (frames.empty()) return RunsUnseen(object) ? "control_flow" : "not_executed";
    return refusal.code.empty() ? "different_code" : refusal.code;
  }

  void VisitFunctions(const expr::ModulePath& module, const std::vector<int>& frames) {
    std::map<std::string, int> count;
    const std::size_t start = candidates_.size();
    std::set<int> seen;
    for (const int frame : frames) {
      const Frame& f = execution_.frames[frame];
      if (f.object != module.object || !seen.insert(f.graph).second) continue;
      for (const Match& match : matcher_.MatchFunctions(frame, function_patterns_)) {
        const auto& reference = matcher_.patterns()[match.pattern].reference;
        Candidate c = NewSite(module, reference.layer);
        c.frame = frame;
        c.site.index = count[c.site.name]++;
        c.site.model_source = SourceOf(frame, match.outputs[0]);
        DecideMatch(c, match);
        candidates_.push_back(std::move(c));
      }
      AddFunctionsDone(module, frame, count);
    }
    std::stable_sort(candidates_.begin() + static_cast<std::ptrdiff_t>(start), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) {
                       return std::tie(a.site.name, a.site.index) <
                              std::tie(b.site.name, b.site.index);
                     });
    for (std::size_t i = start; i < candidates_.size(); ++i) {
      if (count[candidates_[i].site.name] == 1) candidates_[i].site.index.reset();
    }
  }

  // Operations that are what the kernel's own code would be.
  void AddFunctionsDone(const expr::ModulePath& module, int frame,
                        std::map<std::string, int>& count) {
    const expr::Graph& graph = program_.graphs[execution_.frames[frame].graph];
    for (const PlanEntry* entry : functions_) {
      for (const std::string& op : KernelOperations(entry->name)) {
        for (const expr::Node& node : graph.body.nodes) {
          if (node.op != op) continue;
          Candidate c = NewSite(module, entry->name);
          c.site.index = count[entry->name]++;
          c.site.model_source = node.source;
          SetDecision(c, Action::kAlready);
          candidates_.push_back(std::move(c));
        }
      }
    }
  }

  std::set<std::string> KernelOperations(const std::string& name) {
    const std::vector<std::string>& known = catalogue_.FindLayer(name)->operations;
    std::set<std::string> operations(known.begin(), known.end());
    const expr::Arena& arena = execution_.arena;
    for (const int i : kernel_code_[name]) {
      Id id = matcher_.patterns()[i].outputs[0];
      while (expr::OneOf(arena[id].op, {"item", "cast"})) id = arena[id].args[0];
      const std::string& op = arena[id].op;
      operations.insert(op.find("::") == std::string::npos ? "aten::" + op : op);
    }
    return operations;
  }

  // A module whose class the config maps to a function, and whose code holds none.
  void ReportUnmatchedFunction(const expr::ModulePath& module, const std::vector<int>& frames,
                               const PlanEntry& entry, std::size_t start) {
    const Layer* layer = catalogue_.FindLayer(entry.name);
    if (!layer || !layer->function) return;
    for (std::size_t i = start; i < candidates_.size(); ++i) {
      if (candidates_[i].site.name == entry.name) return;
    }
    Candidate c = NewSite(module, entry.name);
    SetDecision(c, Action::kFallback);
    if (c.site.action == Action::kFallback && !entry.reason) {
      Refuse(c, NoMatchCode(module.object, frames, {}));
    }
    c.site.model_source = FirstSource(frames.empty() ? -1 : frames[0]);
    candidates_.push_back(std::move(c));
  }

  // The plan's decision on the site's name; `otherwise` where the plan has a kernel for it.
  void SetDecision(Candidate& c, Action otherwise) {
    const PlanEntry* entry = plan_.Find(c.site.name);
    c.site.action = otherwise;
    if (!entry) return;
    if (entry->decision == Decision::kDisabled) {
      c.site.action = Action::kDisabled;
      c.site.reason = entry->reason;
    } else if (IsExcluded(*entry, c.site.path, plan_.model_root)) {
      Exclude(c);
    } else if (entry->decision == Decision::kFallback && !options_.self_mode) {
      c.site.action = Action::kFallback;
      c.site.reason = entry->reason;
    }
  }

  static void Exclude(Candidate& c) {
    c.site.action = Action::kExcluded;
    c.site.reason = Reason{"excluded", std::string(ReasonText("excluded")), ""};
  }

  void DecideMatch(Candidate& c, const Match& match) {
    const auto& reference = matcher_.patterns()[match.pattern].reference;
    c.site.reference = reference.name;
    SetDecision(c, Action::kReplaced);
    if (c.site.action != Action::kReplaced) return;
    if (execution_.autocast) return Refuse(c, "autocast");
    if (execution_.too_large) return Refuse(c, "too_large");
    if (execution_.writes_constant) {
      return Refuse(c, "mutation", "a constant of the code is changed in place");
    }
    const Implementation* implementation = nullptr;
    if (!options_.self_mode) {
      const PlanEntry* entry = plan_.Find(c.site.name);
      const Kernel* kernel = KernelOf(*entry, catalogue_);
      implementation =
          kernel ? FindImplementation(*kernel, reference.layer, reference.name) : nullptr;
      if (!implementation) return Refuse(c, "other_form", "the form is `" + reference.name + "`");
      if (const std::string problem = ProblemOf(*implementation); !problem.empty()) {
        return Refuse(c, "python_only", problem);
      }
      if (const auto misfit = OperandMisfit(*kernel, *implementation, execution_.arena,
                                            matcher_.patterns()[match.pattern], match.binding)) {
        return Refuse(c, misfit->code, misfit->difference);
      }
    }
    if (const auto refusal = matcher_.Forbids(match)) {
      return Refuse(c, refusal->code, refusal->difference);
    }
    auto edit = expr::PlanEdit(matcher_, program_, execution_, match);
    if (const auto* refusal = std::get_if<Refusal>(&edit)) {
      return Refuse(c, refusal->code, refusal->difference);
    }
    c.site.proof = "semantic";
    c.edits = {{std::get<Edit>(edit), implementation, nullptr, reference.layer, reference.name}};
  }

  std::string ProblemOf(const Implementation& implementation) const {
    for (const SiteReference& reference : references_) {
      if (reference.implementation == &implementation) return reference.problem;
    }
    return "";
  }

  // Code that several modules run is changed only where the change is the same for all.
  void RefuseSharedCode() {
    for (Candidate& c : candidates_) {
      const bool seen = std::none_of(c.edits.begin(), c.edits.end(), [&](const SiteEdit& e) {
        return unseen_.contains(e.edit.graph);
      });
      if (!seen) {
        Refuse(c, "shared_code", "a branch, or a method beside forward, may run it in another way");
      }
    }
    bool changed = true;
    while (changed) {
      changed = false;
      std::map<int, std::vector<const Edit*>> by_object;
      for (const Candidate& c : candidates_) {
        for (const SiteEdit& e : c.edits) {
          by_object[execution_.frames[c.frame].object].push_back(&e.edit);
        }
      }
      for (Candidate& c : candidates_) {
        for (std::size_t i = 0; i < c.edits.size(); ++i) {
          if (SharedEverywhere(c.edits[i].edit, by_object)) continue;
          Refuse(c, "shared_code");
          changed = true;
          break;
        }
        if (changed) break;
      }
    }
  }

  bool SharedEverywhere(const Edit& edit,
                        const std::map<int, std::vector<const Edit*>>& by_object) const {
    for (const int frame : frames_of_graph_.at(edit.graph)) {
      const auto it = by_object.find(execution_.frames[frame].object);
      if (it == by_object.end()) return false;
      if (std::none_of(it->second.begin(), it->second.end(),
                       [&](const Edit* e) { return e->SameAs(edit); })) {
        return false;
      }
    }
    return true;
  }

  static std::vector<std::string> Others(const std::vector<Answer>& all,
                                         const std::string& chosen) {
    std::vector<std::string> names;
    for (const Answer& a : all) {
      if (a.entry->name != chosen && !a.hinted) names.push_back(a.entry->name);
    }
    return names;
  }

  std::string SourceOf(int frame, Id id) const {
    const std::string& source = execution_.arena.Source(id);
    return source.empty() ? FirstSource(frame) : source;
  }

  std::string FirstSource(int frame) const {
    if (frame < 0) return "";
    for (const expr::Node& node : program_.graphs[execution_.frames[frame].graph].body.nodes) {
      if (node.op.starts_with("aten::") && !node.source.empty()) return node.source;
    }
    return "";
  }

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
  std::unordered_set<int> unseen_;  // graphs that may run in a way that was not executed
  std::vector<Candidate> candidates_;
};

}  // namespace

SiteDecisions DecideSites(const Plan& plan, const Catalogue& catalogue,
                          const expr::Program& program, expr::Execution& execution,
                          const std::vector<SiteReference>& references,
                          const SiteOptions& options) {
  return Decider(plan, catalogue, program, execution, references, options).Run();
}

}  // namespace kernelmap
