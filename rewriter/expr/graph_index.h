// Where each value of a graph is made and used, and in which order its nodes run.
#pragma once

#include <unordered_map>
#include <vector>

#include "rewriter/expr/graph.h"

namespace kernelmap::expr {

struct Use {
  const Node* node = nullptr;  // nullptr: an output of `block`
  const Block* block = nullptr;
  int index = 0;
};

class GraphIndex {
 public:
  explicit GraphIndex(const Graph& graph);

  /// The node that makes a value; nullptr for inputs of the graph or of a block.
  const Node* Definition(int value) const;
  const std::vector<Use>& Uses(int value) const;
  /// The block that a node stands in.
  const Block* BlockOf(const Node* node) const;
  /// The node that a block belongs to; nullptr for the graph's own.
  const Node* Owner(const Block* block) const;
  int Order(const Node* node) const;
  /// Whether a value can be read by a node put right before `node` (nullptr: at the end of the
  /// graph).
  bool Available(int value, const Node* node) const;

  /// Whether `inner` is `outer` or lies in it.
  bool Encloses(const Block* outer, const Block* inner) const;

 private:
  struct NodeInfo {
    int order = 0;
    const Block* block = nullptr;
  };
  void Visit(const Block& block, const Block* parent);

  const Block* body_;
  std::unordered_map<int, const Node*> definitions_;
  std::unordered_map<int, const Block*> block_inputs_;
  std::unordered_map<int, std::vector<Use>> uses_;
  std::unordered_map<const Node*, NodeInfo> nodes_;
  std::unordered_map<const Block*, const Block*> parents_;
  std::unordered_map<const Block*, const Node*> owners_;
  int count_ = 0;
};

}  // namespace kernelmap::expr
