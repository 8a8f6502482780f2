#include "rewriter/expr/graph_index.h"

#include <climits>

namespace kernelmap::expr {

GraphIndex::GraphIndex(const Graph& graph) : body_(&graph.body) { Visit(graph.body, nullptr); }

void GraphIndex::Visit(const Block& block, const Block* parent) {
  parents_[&block] = parent;
  for (const int v : block.inputs) block_inputs_[v] = &block;
  for (const Node& node : block.nodes) {
    nodes_[&node] = {count_++, &block};
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      uses_[node.inputs[i]].push_back({&node, &block, static_cast<int>(i)});
    }
    for (const int v : node.outputs) definitions_[v] = &node;
    for (const Block& b : node.blocks) {
      owners_[&b] = &node;
      Visit(b, &block);
    }
  }
  for (std::size_t i = 0; i < block.outputs.size(); ++i) {
    uses_[block.outputs[i]].push_back({nullptr, &block, static_cast<int>(i)});
  }
}

const Node* GraphIndex::Definition(int value) const {
  const auto it = definitions_.find(value);
  return it == definitions_.end() ? nullptr : it->second;
}

const std::vector<Use>& GraphIndex::Uses(int value) const {
  static const std::vector<Use> kNone;
  const auto it = uses_.find(value);
  return it == uses_.end() ? kNone : it->second;
}

const Node* GraphIndex::Owner(const Block* block) const {
  const auto it = owners_.find(block);
  return it == owners_.end() ? nullptr : it->second;
}

const Block* GraphIndex::BlockOf(const Node* node) const { return nodes_.at(node).block; }
int GraphIndex::Order(const Node* node) const { return node ? nodes_.at(node).order : INT_MAX; }

bool GraphIndex::Encloses(const Block* outer, const Block* inner) const {
  for (; inner; inner = parents_.at(inner)) {
    if (inner == outer) return true;
  }
  return false;
}

bool GraphIndex::Available(int value, const Node* node) const {
  const Block* where = node ? BlockOf(node) : body_;
  const Node* definition = Definition(value);
  if (!definition) {
    const auto it = block_inputs_.find(value);
    return it != block_inputs_.end() && Encloses(it->second, where);
  }
  return Order(definition) < Order(node) && Encloses(BlockOf(definition), where);
}

}  // namespace kernelmap::expr
