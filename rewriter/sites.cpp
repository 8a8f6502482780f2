#include "rewriter/sites.h"

#include <algorithm>

#include "rewriter/decider.h"

namespace kernelmap {

using expr::Frame;
using expr::Id;
using expr::Match;
using expr::Refusal;

Decider::Decider(const Plan& plan, const Catalogue& catalogue, const expr::Program& program,
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

SiteDecisions Decider::Run() {
  SiteDecisions decisions;
  std::map<std::string, std::vector<Site>> fusions = Fusions(decisions.fusions);
  for (const expr::ModulePath& module : program_.modules) {
    if (!fused_.contains(module.object)) Visit(module);
    for (Site& site : fusions[module.path]) candidates_.push_back({std::move(site), -1, {}});
    fusions.erase(module.path);
  }
  DropHintsOfOthers();
  RefuseSharedCode();
  for (SiteCandidate& c : candidates_) {
    for (SiteEdit& e : c.edits) {
      const auto known = std::find_if(decisions.edits.begin(), decisions.edits.end(),
                                      [&](const SiteEdit& d) { return d.edit.SameAs(e.edit); });
      if (known == decisions.edits.end()) {
        decisions.edits.push_back(e);
      } else {
        known->edit.needs_contiguous |= e.edit.needs_contiguous;
      }
    }
    if (c.made) decisions.fusions.push_back(std::move(*c.made));
    decisions.sites.push_back(std::move(c.site));
  }
  decisions.modules_run = modules_run_;
  return decisions;
}

std::vector<expr::Pattern> Decider::Patterns(const std::vector<SiteReference>& references,
                                             expr::Arena& arena) {
  std::vector<expr::CompiledReference> compiled;
  for (const SiteReference& r : references) compiled.push_back(r.compiled);
  return expr::MakePatterns(compiled, arena);
}

void Decider::IndexPatterns() {
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

void Decider::IndexFrames() {
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

SiteCandidate Decider::NewSite(const expr::ModulePath& module, const std::string& name) {
  SiteCandidate c;
  c.site.path = module.path;
  c.site.class_name = program_.objects[module.object].class_name;
  c.site.name = name;
  if (const PlanEntry* entry = plan_.Find(name)) {
    c.site.kernel = entry->kernel;
    c.site.source = entry->source;
  }
  return c;
}

std::map<std::string, std::vector<Site>> Decider::Fusions(std::vector<FusionEdit>& edits) {
  std::vector<ModuleInfo> modules;
  for (const expr::ModulePath& module : program_.modules) {
    modules.push_back({module.path, program_.objects[module.object].class_name});
  }
  std::map<std::string, std::vector<Site>> sites = FusionSites(plan_, modules);
  const FusionContext context = Context();
  for (auto& [parent, list] : sites) {
    for (Site& site : list) {
      if (site.action == Action::kCandidate) DecideFusionSite(context, site, fused_, edits);
    }
  }
  return sites;
}

void Decider::Visit(const expr::ModulePath& module) {
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
    for (const PlanEntry* entry : functions_) {
      if (IsHinted(module, *entry)) ReportUnmatchedFunction(module, frames, *entry, start);
    }
  }
}

bool Decider::VisitLayer(const expr::ModulePath& module, const std::vector<int>& frames,
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
      const auto done = matcher_.MatchLayer(frames[0], kernel_code, nullptr);
      if (done && !(all.empty() && OnlyCalls(frames[0], done->pattern))) {
        SiteCandidate c = NewSite(module, matcher_.patterns()[done->pattern].reference.layer);
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
  SiteCandidate c = NewSite(
      module, match ? matcher_.patterns()[match->pattern].reference.layer : (*layer_named)->name);
  c.site.also = Others(all, c.site.name);
  c.frame = frames.empty() ? -1 : frames[0];
  if (match) {
    c.site.model_source = SourceOf(frames[0], match->outputs[0]);
    DecideMatch(c, *match);
    // Another call of the module must come out the same.
    for (std::size_t i = 1; i < frames.size() && (c.made || !c.edits.empty()); ++i) {
      const auto again = matcher_.MatchLayer(frames[i], {match->pattern}, nullptr);
      SiteCandidate other = NewSite(module, c.site.name);
      if (again) DecideMatch(other, *again);
      if (c.made) {
        if (!other.made || !other.made->fused.edit.SameAs(c.made->fused.edit)) {
          Refuse(c, "shared_code");
        }
        continue;
      }
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
    c.hint_only = std::any_of(all.begin(), all.end(),
                              [&](const Answer& a) { return a.hinted && a.entry == *layer_named; });
    c.site.model_source = refusal.source.empty() ? FirstSource(c.frame) : refusal.source;
    SetDecision(c, Action::kFallback);
    const PlanEntry* entry = plan_.Find(c.site.name);
    if (c.site.action == Action::kFallback && !(entry && entry->reason)) {
      if (!frames.empty() && !catalogue_.FindLayer(c.site.name)) {
        refusal = {"no_reference", "the catalogue has no layer `" + c.site.name + "`", ""};
      }
      Refuse(c, NoMatchCode(module.object, frames, refusal), refusal.difference);
    }
  }
  if (layer_named != named.end()) TakeName(c, frames);
  TakeNumeric(c, frames);
  candidates_.push_back(std::move(c));
  return true;
}

bool Decider::OnlyCalls(int frame, int pattern) {
  const Frame& f = execution_.frames[frame];
  const expr::Block& body = program_.graphs[f.graph].body;
  const expr::Node* node =
      body.outputs.empty() ? nullptr : matcher_.Index(f.graph).Definition(body.outputs[0]);
  const auto callee = f.callees.find(node);
  return node && node->op == "prim::CallMethod" && callee != f.callees.end() &&
         matcher_.MatchLayer(callee->second, {pattern}, nullptr).has_value();
}

std::vector<std::string> Decider::Others(const std::vector<Answer>& all,
                                         const std::string& chosen) {
  std::vector<std::string> names;
  for (const Answer& a : all) {
    if (a.entry->name != chosen && !a.hinted) names.push_back(a.entry->name);
  }
  return names;
}

std::string Decider::SourceOf(int frame, Id id) const {
  const std::string& source = execution_.arena.Source(id);
  return source.empty() ? FirstSource(frame) : source;
}

std::string Decider::FirstSource(int frame) const {
  if (frame < 0) return "";
  for (const expr::Node& node : program_.graphs[execution_.frames[frame].graph].body.nodes) {
    if (node.op.starts_with("aten::") && !node.source.empty()) return node.source;
  }
  return "";
}

SiteDecisions DecideSites(const Plan& plan, const Catalogue& catalogue,
                          const expr::Program& program, expr::Execution& execution,
                          const std::vector<SiteReference>& references,
                          const SiteOptions& options) {
  return Decider(plan, catalogue, program, execution, references, options).Run();
}

}  // namespace kernelmap
