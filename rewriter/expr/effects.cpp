#include "rewriter/expr/effects.h"

#include "rewriter/expr/arena.h"

namespace kernelmap::expr {

bool MakesFresh(std::string_view op) {
  return OneOf(op, {"add",         "sub",          "mul",          "div",
                    "rsub",        "neg",          "abs",          "square",
                    "pow",         "exp",          "log",          "sqrt",
                    "rsqrt",       "reciprocal",   "sin",          "cos",
                    "tanh",        "sigmoid",      "silu",         "relu",
                    "gelu",        "erf",          "softplus",     "softmax",
                    "log_softmax", "matmul",       "mm",           "bmm",
                    "addmm",       "baddbmm",      "linear",       "embedding",
                    "layer_norm",  "clone",        "cat",          "stack",
                    "mean",        "sum",          "cumsum",       "var",
                    "amax",        "amin",         "argmax",       "where",
                    "masked_fill", "le",           "lt",           "ge",
                    "gt",          "eq",           "ne",           "arange",
                    "zeros",       "ones",         "full",         "empty",
                    "zeros_like",  "ones_like",    "full_like",    "empty_like",
                    "new_zeros",   "new_ones",     "new_full",     "new_empty",
                    "rand",        "randn",        "rand_like",    "randn_like",
                    "conv1d",      "conv2d",       "_convolution", "scaled_dot_product_attention",
                    "clamp",       "minimum",      "maximum",      "tril",
                    "triu",        "floor_divide", "remainder",    "index",
                    "gather",      "index_select", "sort",         "topk",
                    "argsort",     "nonzero",      "index_add",    "scatter",
                    "scatter_add", "bitwise_and",  "bitwise_or",   "bitwise_not",
                    "logical_and", "logical_or",   "logical_not"});
}

bool ReadsLayout(std::string_view op) {
  return OneOf(op, {"aten::as_strided", "aten::stride", "aten::is_contiguous",
                    "aten::storage_offset", "aten::data_ptr"});
}

bool WriteAnalysis::MayWrite(int graph) {
  const auto [it, fresh] = known_.emplace(graph, false);  // recursion adds nothing
  if (!fresh) return it->second;
  const bool writes = BlockMayWrite(program_.graphs[graph].body);
  known_[graph] = writes;
  return writes;
}

bool WriteAnalysis::MayWrite(const Node& node) {
  if (node.op == "prim::CallMethod" || node.op == "prim::CallFunction") {
    if (node.callee >= 0) return MayWrite(node.callee);
    return node.op != "prim::CallMethod" || MethodMayWrite(node.name);
  }
  if (node.writes != 0 || node.op == "prim::SetAttr") return true;
  if (node.has_effects && node.op != "prim::RaiseException") return true;
  if (OneOf(node.op, {"prim::fork", "prim::awaitable", "prim::awaitable_wait", "prim::PythonOp",
                      "prim::Enter", "prim::Exit", "prim::rpc_async", "prim::rpc_sync",
                      "prim::rpc_remote"})) {
    return true;
  }
  return !node.known_schema && !node.op.starts_with("prim::");
}

bool WriteAnalysis::BlockMayWrite(const Block& block) {
  for (const Node& node : block.nodes) {
    if (MayWrite(node)) return true;
    for (const Block& b : node.blocks) {
      if (BlockMayWrite(b)) return true;
    }
  }
  return false;
}

// Of an interface: any class's method of the name.
bool WriteAnalysis::MethodMayWrite(const std::string& name) {
  for (const Object& object : program_.objects) {
    const auto it = object.methods.find(name);
    if (it != object.methods.end() && MayWrite(it->second)) return true;
  }
  return false;
}

void CollectNested(const Block& block, std::unordered_set<int>& inner, NestedReads& reads) {
  const auto read = [&](int v) {
    if (!inner.contains(v)) reads.values.insert(v);
  };
  for (const int v : block.inputs) inner.insert(v);
  for (const Node& node : block.nodes) {
    for (const int v : node.inputs) read(v);
    for (const int v : node.outputs) inner.insert(v);
    reads.reads_layout = reads.reads_layout || ReadsLayout(node.op);
    for (const Block& b : node.blocks) CollectNested(b, inner, reads);
  }
  for (const int v : block.outputs) read(v);
}

void AddGraph(const Program& program, int graph, std::unordered_set<int>& graphs) {
  if (!graphs.insert(graph).second) return;
  for (const Node& node : program.graphs[graph].body.nodes) AddCallees(program, node, graphs);
}

void AddCallees(const Program& program, const Node& node, std::unordered_set<int>& graphs) {
  if (node.callee >= 0) {
    AddGraph(program, node.callee, graphs);
  } else if (node.op == "prim::CallMethod") {  // of an interface: any class's method of the name
    for (const Object& object : program.objects) {
      const auto it = object.methods.find(node.name);
      if (it != object.methods.end()) AddGraph(program, it->second, graphs);
    }
  }
  for (const Block& block : node.blocks) {
    for (const Node& inner : block.nodes) AddCallees(program, inner, graphs);
  }
}

}  // namespace kernelmap::expr
