#include "rewriter/expr/match.h"

#include <algorithm>
#include <deque>

#include "rewriter/expr/guess.h"

namespace kernelmap::expr {
namespace {

bool IsViewOrCast(const std::string& op) {
  return OneOf(op, {"cast", "slice", "permute", "transpose", "unsqueeze", "squeeze", "reshape",
                    "expand", "to_device", "item", "chunk", "split"});
}

bool ReadsOnlyShape(const std::string& op) {
  return OneOf(op, {"size", "inferred_size", "slice_size", "dim", "dtype", "device", "len"});
}

}  // namespace

std::optional<std::vector<std::string>> AttributePath(const Program& program, int from, int to) {
  std::map<int, std::pair<int, std::string>> reached{{from, {-1, ""}}};
  std::deque<int> queue{from};
  while (!queue.empty() && !reached.contains(to)) {
    const int object = queue.front();
    queue.pop_front();
    for (const auto& [name, value] : program.objects[object].attributes) {
      if (value.kind != Kind::kObject) continue;
      const int child = static_cast<int>(value.integer);
      if (reached.emplace(child, std::make_pair(object, name)).second) queue.push_back(child);
    }
  }
  if (!reached.contains(to)) return std::nullopt;
  std::vector<std::string> path;
  for (int object = to; object != from; object = reached[object].first) {
    path.insert(path.begin(), reached[object].second);
  }
  return path;
}

Matcher::Matcher(const Program& program, Execution& execution, std::vector<Pattern> patterns,
                 MatchOptions options)
    : program_(program),
      execution_(execution),
      arena_(execution.arena),
      patterns_(std::move(patterns)),
      options_(options) {}

const GraphIndex& Matcher::Index(int graph) {
  auto it = indices_.find(graph);
  if (it == indices_.end()) it = indices_.emplace(graph, program_.graphs[graph]).first;
  return it->second;
}

bool Matcher::IsOwnParameter(int frame, Id id) const {
  const Expr& e = arena_[id];
  return e.op == "param" &&
         AttributePath(program_, execution_.frames[frame].object, e.owner).has_value();
}

bool Matcher::Check(int index, const Ids& outputs, const Binding& guessed, Match* match,
                    Refusal* refusal) {
  const Pattern& pattern = patterns_[index];
  Binding binding = guessed;
  for (std::size_t i = 0; i < binding.size(); ++i) {
    if (binding[i] >= 0) continue;
    // A factor that the model leaves out is 1; any other parameter must be found.
    if (arena_[pattern.variables[i]].kind != Kind::kFloat) return false;
    binding[i] = arena_.Float(1.0);
  }
  const Ids computed = Instantiate(pattern, binding, arena_);
  if (computed != outputs && options_.check) {
    for (std::size_t i = 0; i < computed.size() && i < outputs.size() && refusal; ++i) {
      if (computed[i] == outputs[i]) continue;
      const Difference exact = CompareExpressions(arena_, computed[i], outputs[i]);
      const int matched = ComparePattern(arena_, pattern, i, outputs[i]).matched + 1;
      if (matched <= refusal->matched) break;
      *refusal = {"different_code", exact.text, exact.source, matched};
      for (const Id id : binding) {
        // The same code, but reading memory that was written between or since.
        if (arena_.IsTensor(id) && !arena_.IsConst(id) && arena_.Written(id)) {
          *refusal = {"mutation", arena_.Print(id, 2) + " is changed in place", arena_.Source(id),
                      matched};
        }
      }
      break;
    }
    return false;
  }
  match->pattern = index;
  match->binding = binding;
  match->outputs = outputs;
  return true;
}

std::optional<Match> Matcher::MatchLayer(int frame, const std::vector<int>& patterns,
                                         Refusal* refusal) {
  const Frame& f = execution_.frames[frame];
  if (f.result < 0) return std::nullopt;
  const Ids results = arena_[f.result].op == "tuple" ? arena_[f.result].args : Ids{f.result};
  std::unordered_set<Id> available;
  for (const auto& [id, value] : f.computed) available.insert(id);
  for (const int index : patterns) {
    const Pattern& pattern = patterns_[index];
    if (pattern.outputs.size() != 1 && pattern.outputs.size() != results.size()) continue;
    for (const Id result : results) {
      // Of a pattern with several outputs, all that the module returns, in order.
      const bool all = pattern.outputs.size() > 1;
      if (all && result != results[0]) continue;
      if (!arena_.IsTensor(result)) continue;
      if (std::find(f.inputs.begin(), f.inputs.end(), result) != f.inputs.end()) continue;
      Match match{.frame = frame};
      Guesser guesser(arena_, pattern, available);
      const bool found = guesser.Search(0, result, [&] {
        for (std::size_t i = 0; i < pattern.variables.size(); ++i) {
          const Id bound = guesser.binding()[i];
          if (bound < 0 || arena_[pattern.variables[i]].kind != Kind::kTensor) continue;
          const bool is_input =
              std::find(f.inputs.begin() + 1, f.inputs.end(), bound) != f.inputs.end();
          if (pattern.reference.is_input[i] ? !is_input : !IsOwnParameter(frame, bound)) {
            return false;
          }
        }
        return Check(index, all ? results : Ids{result}, guesser.binding(), &match, refusal);
      });
      if (found) return match;
      if (!refusal) continue;
      const Difference near = ComparePattern(arena_, pattern, 0, result);
      if (near.matched > refusal->matched && !near.text.empty()) {
        *refusal = {"different_code", near.text, near.source, near.matched};
      }
    }
  }
  if (refusal && refusal->code.empty()) refusal->code = "different_code";
  if (refusal && f.has_branch) refusal->code = "control_flow";
  return std::nullopt;
}

std::vector<Match> Matcher::MatchFunctions(int frame, const std::vector<int>& patterns) {
  const Frame& f = execution_.frames[frame];
  const GraphIndex& index = Index(f.graph);
  std::unordered_set<Id> available, seen, claimed, called;
  Ids candidates;
  for (const auto& [id, value] : f.computed) {
    available.insert(id);
    const Node* node = index.Definition(value);
    if (!node || index.Uses(value).empty() || !arena_.IsTensor(id) || arena_.IsConst(id)) continue;
    if (arena_[id].op == "param") continue;
    const Node* made = node->op == "prim::TupleUnpack" ? index.Definition(node->inputs[0]) : node;
    if (node->op == "prim::TupleUnpack" && (!made || !made->op.starts_with("prim::Call"))) continue;
    // Results of a function called here; those of a module only where the layer says so.
    if (!seen.insert(id).second) continue;
    if (made->op == "prim::CallMethod") called.insert(id);
    candidates.push_back(id);
  }
  std::vector<Match> matches;
  const auto rooted = [&](Id id, Id output) {
    const std::string &a = arena_[id].op, &b = arena_[output].op;
    return a == b || b == "cast" || a == "cast";
  };
  for (const int p : patterns) {
    const Pattern& pattern = patterns_[p];
    for (const Id first : candidates) {
      if (claimed.contains(first) || !rooted(first, pattern.outputs[0])) continue;
      if (called.contains(first) != pattern.reference.across_calls) continue;
      Match match{.frame = frame};
      Guesser guesser(arena_, pattern, available);
      const bool found = guesser.Search(0, first, [&] {
        if (pattern.outputs.size() == 1) {
          return Check(p, {first}, guesser.binding(), &match, nullptr);
        }
        for (const Id second : candidates) {
          if (second == first || claimed.contains(second) || called.contains(second) ||
              !rooted(second, pattern.outputs[1])) {
            continue;
          }
          if (guesser.Search(1, second, [&] {
                return Check(p, {first, second}, guesser.binding(), &match, nullptr);
              })) {
            return true;
          }
        }
        return false;
      });
      if (!found) continue;
      for (const Id id : Interior(match)) claimed.insert(id);
      for (const Id id : match.outputs) claimed.insert(id);
      matches.push_back(std::move(match));
    }
  }
  return matches;
}

Refusal Matcher::Nearest(int frame, const std::vector<int>& patterns) {
  Refusal nearest{.code = "different_code"};
  for (const int p : patterns) {
    for (const auto& [id, value] : execution_.frames[frame].computed) {
      if (arena_[id].op != arena_[patterns_[p].outputs[0]].op) continue;
      const Difference near = ComparePattern(arena_, patterns_[p], 0, id);
      if (near.matched <= nearest.matched || near.text.empty()) continue;
      nearest = {"different_code", near.text, near.source, near.matched};
    }
  }
  return nearest;
}

// What a match computes on the way from its operands to its outputs, outputs included.
Ids Matcher::Interior(const Match& match) const {
  std::unordered_set<Id> seen;
  for (Id id : match.binding) {
    // A permutation composed with an operand's own skips the operand: what the operand is a view
    // of is outside as well.
    seen.insert(id);
    while (IsViewOrCast(arena_[id].op) && !arena_[id].args.empty()) {
      id = arena_[id].args[0];
      seen.insert(id);
    }
  }
  Ids interior;
  Ids stack = match.outputs;
  while (!stack.empty()) {
    const Id id = stack.back();
    stack.pop_back();
    if (arena_.IsConst(id) || !seen.insert(id).second) continue;
    interior.push_back(id);
    if (ReadsOnlyShape(arena_[id].op)) continue;
    for (const Id a : arena_[id].args) stack.push_back(a);
  }
  return interior;
}

// An operand, or a cast or view of one: what stays available when the site is replaced.
bool Matcher::IsCastOfOperand(const Match& match, Id id) const {
  while (true) {
    if (std::find(match.binding.begin(), match.binding.end(), id) != match.binding.end()) {
      return true;
    }
    const Expr& e = arena_[id];
    if (!IsViewOrCast(e.op) || e.args.empty()) return false;
    id = e.args[0];
  }
}

bool Matcher::IsDead(const Frame& frame, const GraphIndex& index, const Node* node) const {
  if (!node || node->writes != 0 || node->has_effects || !node->blocks.empty()) return false;
  if (node->op == "prim::CallMethod" || node->op == "prim::CallFunction") return false;
  for (const int v : node->outputs) {
    for (const Use& use : index.Uses(v)) {
      if (!IsDead(frame, index, use.node)) return false;
    }
  }
  return true;
}

// A result of the branch that is taken: the `if` hands it on, as a value of the site.
bool Matcher::IsInsideBranch(const Frame& frame, const GraphIndex& index, const Use& use,
                             const std::unordered_set<Id>& interior) const {
  const Node* owner = index.Owner(use.block);
  if (!owner || owner->op != "prim::If") return false;
  const auto it = frame.values.find(owner->outputs[use.index]);
  return it != frame.values.end() && interior.contains(it->second);
}

bool Matcher::Escapes(const Match& match, const std::unordered_set<Id>& interior,
                      Refusal* refusal) {
  const Frame& f = execution_.frames[match.frame];
  const GraphIndex& index = Index(f.graph);
  const bool function = patterns_[match.pattern].reference.function;
  const auto is_output = [&](Id id) {
    return std::find(match.outputs.begin(), match.outputs.end(), id) != match.outputs.end();
  };
  for (const auto& [id, value] : f.computed) {
    if (!interior.contains(id) || is_output(id) || !arena_.IsTensor(id)) continue;
    if (IsCastOfOperand(match, id)) continue;
    for (const Use& use : index.Uses(value)) {
      const bool never = std::any_of(f.never_run.begin(), f.never_run.end(),
                                     [&](const Block* b) { return index.Encloses(b, use.block); });
      if (never) continue;
      if (use.node) {
        if (IsDead(f, index, use.node)) continue;
        const bool inside =
            std::all_of(use.node->outputs.begin(), use.node->outputs.end(), [&](int v) {
              const auto it = f.values.find(v);
              return it != f.values.end() &&
                     (interior.contains(it->second) || !arena_.IsTensor(it->second));
            });
        // A module returns a tuple; what else is in it is looked at below. The calls that a whole
        // layer makes are part of it.
        if (inside || (!function && (use.node->op == "prim::TupleConstruct" ||
                                     use.node->op == "prim::CallMethod"))) {
          continue;
        }
      } else if (!function || IsInsideBranch(f, index, use, interior)) {
        continue;
      }
      *refusal = {"escaping_value", arena_.Print(id, 2) + " is used outside", arena_.Source(id)};
      return true;
    }
  }
  if (function) return false;
  const Ids results = arena_[f.result].op == "tuple" ? arena_[f.result].args : Ids{f.result};
  for (const Id id : results) {
    if (is_output(id) || !arena_.IsTensor(id) || IsCastOfOperand(match, id)) continue;
    *refusal = {"escaping_value", "the module also returns " + arena_.Print(id, 2),
                arena_.Source(id)};
    return true;
  }
  return false;
}

std::optional<Refusal> Matcher::Forbids(const Match& match) {
  const Ids list = Interior(match);
  const std::unordered_set<Id> interior(list.begin(), list.end());
  Ids all = list;
  all.insert(all.end(), match.binding.begin(), match.binding.end());
  for (const Id id : all) {
    if (arena_.IsTensor(id) && !arena_.IsConst(id) && arena_.Written(id)) {
      return Refusal{"mutation", arena_.Print(id, 2) + " is changed in place", arena_.Source(id)};
    }
  }
  for (const Id id : match.outputs) {
    if (arena_.LayoutRead(id)) {
      return Refusal{"escaping_value", "code after the site reads its memory layout",
                     arena_.Source(id)};
    }
  }
  Refusal refusal;
  if (Escapes(match, interior, &refusal)) return refusal;
  return std::nullopt;
}

}  // namespace kernelmap::expr
