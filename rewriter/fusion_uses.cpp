#include <algorithm>
#include <functional>

#include "rewriter/fusion_parts.h"

namespace kernelmap {
namespace {

using expr::Frame;
using expr::Id;
using expr::Ids;
using expr::Match;
using expr::Refusal;

class UseChecker {
 public:
  UseChecker(const FusionContext& context, const MemberProof& proof)
      : c_(context), p_(proof), arena_(context.execution.arena) {}

  std::optional<Refusal> Run(FusionEdit& edit) const {
    if (auto refusal = FindNodes(edit)) return refusal;
    return edit.same_input ? CheckSameInput() : CheckChain(edit);
  }

 private:
  Refusal Of(std::size_t member, const std::string& code, const std::string& why) const {
    return RefusalOf(p_.paths[member], code, why);
  }

  const Frame& F(int frame) const { return c_.execution.frames[frame]; }

  const expr::Pattern& PatternOf(const Match& match) const {
    return c_.matcher.patterns()[match.pattern];
  }

  // The calls in the parent's code.
  std::optional<Refusal> FindNodes(FusionEdit& edit) const {
    const Frame& parent = F(p_.parent);
    const expr::GraphIndex& index = c_.matcher.Index(parent.graph);
    edit.parent_graph = parent.graph;
    for (std::size_t i = 0; i < p_.frames.size(); ++i) {
      const auto it = std::find_if(parent.callees.begin(), parent.callees.end(),
                                   [&](const auto& c) { return c.second == p_.frames[i]; });
      if (it == parent.callees.end()) return Of(i, "other_use", "is not called by the parent");
      const expr::Node* node = it->first;
      if (node->inputs.size() != 2 || node->outputs.size() != 1 ||
          F(p_.frames[i]).inputs.size() != 2) {
        return Of(i, "other_use", "takes more than one input");
      }
      edit.calls.push_back(node);
      if (index.BlockOf(node) != index.BlockOf(edit.calls[0])) {
        return Of(i, "other_use", "is called in another branch");
      }
      if (i > 0 && index.Order(node) < index.Order(edit.calls[0])) {
        return Of(i, "other_use", "is called before `" + p_.paths[0] + "`");
      }
      if (i == 0 && !edit.same_input) continue;
      // Of these, only the one result is left.
      if (F(p_.frames[i]).result != p_.matches[i].outputs[0]) {
        return Of(i, "escaping_value", "returns more than its result");
      }
      if (!F(p_.frames[i]).pure) return Of(i, "other_use", "does more than compute its result");
    }
    return std::nullopt;
  }

  Id InputOf(const Match& match) const {
    const expr::CompiledReference& reference = PatternOf(match).reference;
    for (std::size_t i = 0; i < match.binding.size(); ++i) {
      if (reference.is_input[i]) return match.binding[i];
    }
    return -1;
  }

  std::optional<Refusal> CheckSameInput() const {
    for (std::size_t i = 0; i < p_.frames.size(); ++i) {
      if (InputOf(p_.matches[i]) != InputOf(p_.matches[0]) ||
          F(p_.frames[i]).inputs[1] != InputOf(p_.matches[0])) {
        return Of(i, "other_use", "takes another input than `" + p_.paths[0] + "`");
      }
    }
    return std::nullopt;
  }

  // Each member's result is what the next one takes, and nobody else.
  std::optional<Refusal> CheckChain(const FusionEdit& edit) const {
    const expr::GraphIndex& index = c_.matcher.Index(edit.parent_graph);
    for (std::size_t i = 0; i + 1 < p_.frames.size(); ++i) {
      const Id result = p_.matches[i].outputs[0];
      const expr::Node* next = edit.calls[i + 1];
      const std::string wanted =
          "what it computes goes elsewhere than to `" + p_.paths[i + 1] + "`";
      std::vector<int> values;
      if (F(p_.frames[i]).result == result) {
        values = {edit.calls[i]->outputs[0]};
      } else {
        const Ids& all = arena_[F(p_.frames[i]).result].args;
        for (const expr::Use& use : index.Uses(edit.calls[i]->outputs[0])) {
          if (!use.node || use.node->op != "prim::TupleUnpack" ||
              use.node->outputs.size() != all.size()) {
            return Of(i, "other_use", wanted);
          }
          for (std::size_t j = 0; j < all.size(); ++j) {
            if (all[j] == result) values.push_back(use.node->outputs[j]);
          }
        }
      }
      int uses = 0;
      for (const int value : values) {
        for (const expr::Use& use : index.Uses(value)) {
          if (use.node != next || use.index != 1) return Of(i, "other_use", wanted);
          ++uses;
        }
      }
      if (uses != 1 || InputOf(p_.matches[i + 1]) != result ||
          F(p_.frames[i + 1]).inputs[1] != result) {
        return Of(i, "other_use", wanted);
      }
    }
    return std::nullopt;
  }

  const FusionContext& c_;
  const MemberProof& p_;
  const expr::Arena& arena_;
};

}  // namespace

Refusal RefusalOf(const std::string& path, const std::string& code, const std::string& why,
                  const std::string& source) {
  return {code, "`" + path + "`" + (why.empty() ? "" : ": " + why), source};
}

std::optional<Refusal> CheckUses(const FusionContext& context, const MemberProof& proof,
                                 FusionEdit& edit) {
  return UseChecker(context, proof).Run(edit);
}

std::optional<Refusal> CheckCallers(const FusionContext& context,
                                    const std::vector<std::string>& paths, const FusionEdit& edit) {
  if (edit.shared_class) return std::nullopt;
  std::optional<Refusal> refusal;
  const std::function<void(const expr::Block&)> visit = [&](const expr::Block& block) {
    for (const expr::Node& node : block.nodes) {
      for (std::size_t i = 0; i < edit.graphs.size(); ++i) {
        if (node.callee == edit.graphs[i] && &node != edit.calls[i] && !refusal) {
          refusal = RefusalOf(paths[i], "other_use", "other code calls it too");
        }
      }
      for (const expr::Block& inner : node.blocks) visit(inner);
    }
  };
  for (const expr::Graph& graph : context.program.graphs) visit(graph.body);
  return refusal;
}

}  // namespace kernelmap
