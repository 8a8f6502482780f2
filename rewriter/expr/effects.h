// What code does beside computing its results, seen without running it: writes, memory that is
// shared, strides that are read. Everything here errs towards more effects.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "rewriter/expr/graph.h"

namespace kernelmap::expr {

/// Whether the result of an operation ("add" for aten::add) is memory of its own. Of any other the
/// result counts as possibly its input: schemas do not say so of einsum, dropout, broadcast_tensors
/// and more.
bool MakesFresh(std::string_view op);

/// Whether an operation ("aten::stride") gives away how memory is laid out.
bool ReadsLayout(std::string_view op);

/// Whether code may write to memory that it does not own; calls are followed.
class WriteAnalysis {
 public:
  explicit WriteAnalysis(const Program& program) : program_(program) {}

  bool MayWrite(int graph);
  bool MayWrite(const Node& node);
  bool BlockMayWrite(const Block& block);

 private:
  bool MethodMayWrite(const std::string& name);

  const Program& program_;
  std::unordered_map<int, bool> known_;
};

/// What the blocks of a node read of the blocks around it.
struct NestedReads {
  std::unordered_set<int> values;
  bool reads_layout = false;
};
void CollectNested(const Block& block, std::unordered_set<int>& inner, NestedReads& reads);

/// The graphs that `nodes` may call, in their blocks too, and what those call.
void AddCallees(const Program& program, const Node& node, std::unordered_set<int>& graphs);
void AddGraph(const Program& program, int graph, std::unordered_set<int>& graphs);

}  // namespace kernelmap::expr
