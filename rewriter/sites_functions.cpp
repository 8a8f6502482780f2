#include <algorithm>

#include "rewriter/decider.h"
#include "rewriter/kernel_fit.h"

namespace kernelmap {

using expr::Frame;
using expr::Id;
using expr::Match;
using expr::Refusal;

void Decider::VisitFunctions(const expr::ModulePath& module, const std::vector<int>& frames) {
  std::map<std::string, int> count;
  const std::size_t start = candidates_.size();
  std::set<int> seen;
  for (const int frame : frames) {
    const Frame& f = execution_.frames[frame];
    if (f.object != module.object || !seen.insert(f.graph).second) continue;
    for (const Match& found : matcher_.MatchFunctions(frame, function_patterns_)) {
      const Match match = PreferForm(found);
      const auto& reference = matcher_.patterns()[match.pattern].reference;
      SiteCandidate c = NewSite(module, reference.layer);
      c.frame = frame;
      c.site.index = count[c.site.name]++;
      c.site.model_source = SourceOf(frame, match.outputs[0]);
      if (reference.across_calls) AddMembers(c, match.binding, module.object);
      DecideMatch(c, match);
      if (reference.across_calls && !c.edits.empty()) Claim(match.binding, module.object);
      candidates_.push_back(std::move(c));
    }
    AddFunctionsDone(module, frame, count);
  }
  std::stable_sort(candidates_.begin() + static_cast<std::ptrdiff_t>(start), candidates_.end(),
                   [](const SiteCandidate& a, const SiteCandidate& b) {
                     return std::tie(a.site.name, a.site.index) <
                            std::tie(b.site.name, b.site.index);
                   });
  for (std::size_t i = start; i < candidates_.size(); ++i) {
    if (count[candidates_[i].site.name] == 1) candidates_[i].site.index.reset();
  }
}

// Forms may compute the same where dtypes make casts nothing: of those the one that the kernel has.
Match Decider::PreferForm(const Match& found) {
  const auto& reference = matcher_.patterns()[found.pattern].reference;
  const PlanEntry* entry = plan_.Find(reference.layer);
  const Kernel* kernel = entry && !options_.self_mode ? KernelOf(*entry, catalogue_) : nullptr;
  if (!kernel || FindImplementation(*kernel, reference.layer, reference.name)) return found;
  std::vector<int> forms;
  for (const int i : function_patterns_) {
    const auto& other = matcher_.patterns()[i].reference;
    if (other.layer == reference.layer && FindImplementation(*kernel, other.layer, other.name)) {
      forms.push_back(i);
    }
  }
  for (const Match& match : matcher_.MatchFunctions(found.frame, forms)) {
    if (match.outputs == found.outputs) return match;
  }
  return found;
}

void Decider::AddMembers(SiteCandidate& c, const expr::Ids& operands, int object) const {
  for (const Id id : operands) {
    const expr::Expr& e = execution_.arena[id];
    for (const expr::ModulePath& module : program_.modules) {
      if (e.op != "param" || module.object != e.owner || e.owner == object) continue;
      c.site.members.push_back(module.path);
    }
  }
}

void Decider::Claim(const expr::Ids& operands, int object) {
  for (const Id id : operands) {
    const expr::Expr& e = execution_.arena[id];
    if (e.op != "param" || e.owner == object) continue;
    const std::vector<int>& frames = frames_of_object_[e.owner];
    std::set<int> parents;
    if (std::all_of(frames.begin(), frames.end(), [&](int frame) {
          const int parent = execution_.frames[frame].parent;
          return parent >= 0 && execution_.frames[parent].object == object &&
                 parents.insert(parent).second;
        })) {
      fused_.insert(e.owner);
    }
  }
}

void Decider::AddFunctionsDone(const expr::ModulePath& module, int frame,
                               std::map<std::string, int>& count) {
  const expr::Graph& graph = program_.graphs[execution_.frames[frame].graph];
  for (const PlanEntry* entry : functions_) {
    for (const std::string& op : KernelOperations(entry->name)) {
      for (const expr::Node& node : graph.body.nodes) {
        if (node.op != op) continue;
        SiteCandidate c = NewSite(module, entry->name);
        c.site.index = count[entry->name]++;
        c.site.model_source = node.source;
        SetDecision(c, Action::kAlready);
        if (catalogue_.FindLayer(entry->name)->across_calls) {
          expr::Ids operands;
          for (const int v : node.inputs) {
            const auto& values = execution_.frames[frame].values;
            if (const auto it = values.find(v); it != values.end()) operands.push_back(it->second);
          }
          AddMembers(c, operands, module.object);
          Claim(operands, module.object);
        }
        candidates_.push_back(std::move(c));
      }
    }
  }
}

std::set<std::string> Decider::KernelOperations(const std::string& name) {
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

bool Decider::IsHinted(const expr::ModulePath& module, const PlanEntry& entry) const {
  const Layer* layer = catalogue_.FindLayer(entry.name);
  if (!layer || !entry.from_config) return false;
  const auto answers = [&](const expr::ModulePath& m) {
    return !layer->HintOf(program_.objects[m.object].class_name).empty();
  };
  if (!answers(module)) return false;
  // What is inside a module stands behind it.
  const std::string prefix = module.path.empty() ? "" : module.path + ".";
  const std::vector<expr::ModulePath>& all = program_.modules;
  for (std::size_t i = &module - all.data() + 1; i < all.size(); ++i) {
    if (!all[i].path.starts_with(prefix)) break;
    if (answers(all[i])) return false;
  }
  return true;
}

void Decider::ReportUnmatchedFunction(const expr::ModulePath& module,
                                      const std::vector<int>& frames, const PlanEntry& entry,
                                      std::size_t start) {
  for (std::size_t i = start; i < candidates_.size(); ++i) {
    if (candidates_[i].site.name == entry.name) return;
  }
  SiteCandidate c = NewSite(module, entry.name);
  c.hint_only = true;
  SetDecision(c, Action::kFallback);
  c.site.model_source = FirstSource(frames.empty() ? -1 : frames[0]);
  if (c.site.action == Action::kFallback && !c.site.reason) {
    const Refusal nearest =
        frames.empty() ? Refusal{} : matcher_.Nearest(frames[0], by_name_[entry.name]);
    Refuse(c, NoMatchCode(module.object, frames, nearest), nearest.difference);
    if (!nearest.source.empty()) c.site.model_source = nearest.source;
  }
  candidates_.push_back(std::move(c));
}

void Decider::DropHintsOfOthers() {
  std::vector<bool> drop(candidates_.size(), false);
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const Site& site = candidates_[i].site;
    if (!candidates_[i].hint_only || !candidates_[i].edits.empty()) continue;
    const std::string prefix = site.path.empty() ? "" : site.path + ".";
    for (std::size_t j = i + 1; j < candidates_.size() && !drop[i]; ++j) {
      const Site& inner = candidates_[j].site;
      if (inner.path == site.path) continue;
      if (!inner.path.starts_with(prefix)) break;
      drop[i] = inner.name == site.name && !candidates_[j].hint_only;
    }
  }
  std::size_t i = 0;
  std::erase_if(candidates_, [&](const SiteCandidate&) { return drop[i++]; });
}

}  // namespace kernelmap
