#include "rewriter/expr/execute.h"

#include <algorithm>

#include "rewriter/expr/effects.h"
#include "rewriter/expr/graph_index.h"

namespace kernelmap::expr {
namespace {

constexpr int kMaxDepth = 200;
constexpr std::int64_t kMaxSteps = 2'000'000;
constexpr std::size_t kMaxFrames = 200'000;

bool IsContiguousCall(const Node* node) { return node && node->op == "aten::contiguous"; }

class Executor {
 public:
  Executor(const Program& program, Execution& execution, Arena& arena)
      : program_(program), execution_(execution), arena_(arena), analysis_(program) {
    escaped_ = arena.Opaque("escaped");
    if (program.objects.empty()) return;  // references: functions alone
    for (const Graph& graph : program.graphs) Scan(graph.body);
  }

  /// Memory that code not followed may reach: what attributes hold that change, inputs.
  Id escaped() const { return escaped_; }

  Id Run(int graph, const Ids& args, int object, int parent, int* frame_index = nullptr) {
    const int index = static_cast<int>(execution_.frames.size());
    if (frame_index) *frame_index = index;
    Frame& frame = execution_.frames.emplace_back();
    frame.parent = parent;
    frame.object = object;
    frame.graph = graph;
    frame.inputs = args;
    const Graph& g = program_.graphs[graph];
    if (++depth_ > kMaxDepth || execution_.frames.size() > kMaxFrames ||
        args.size() != g.body.inputs.size()) {
      execution_.too_large = true;
      --depth_;
      return arena_.Opaque("call");
    }
    for (std::size_t i = 0; i < args.size(); ++i) Set(index, g.body.inputs[i], args[i]);
    RunBlock(index, g.body);
    --depth_;
    const Ids outputs = Get(index, g.body.outputs);
    const Id result = outputs.size() == 1 ? outputs[0] : arena_.Tuple(outputs);
    execution_.frames[index].result = result;
    return result;
  }

  // See `trains` of Execute.
  void Train() {
    mutable_attributes_.insert("training");
    arena_.KeepGradients();
  }

 private:
  // What is true of the program as a whole: attributes that are set, lists that are changed.
  void Scan(const Block& block) {
    for (const Node& node : block.nodes) {
      if (node.op == "prim::SetAttr") mutable_attributes_.insert(node.name);
      changes_lists_ = changes_lists_ ||
                       OneOf(node.op, {"aten::append", "aten::extend", "aten::insert", "aten::pop",
                                       "aten::clear", "aten::_set_item", "aten::reverse",
                                       "aten::sort", "aten::remove", "aten::Delete"});
      for (const Block& b : node.blocks) Scan(b);
    }
  }

  Frame& F(int index) { return execution_.frames[index]; }

  void Set(int frame, int value, Id id) {
    F(frame).values[value] = id;
    F(frame).computed.emplace_back(id, value);
  }

  Ids Get(int frame, const std::vector<int>& values) {
    Ids ids;
    for (const int v : values) {
      const auto it = F(frame).values.find(v);
      ids.push_back(it == F(frame).values.end() ? arena_.Opaque("undefined") : it->second);
    }
    return ids;
  }

  Kind KindOf(int frame, int value) { return program_.graphs[F(frame).graph].kinds[value]; }

  void SetOpaque(int frame, const Node& node, const std::string& why) {
    for (const int v : node.outputs) Set(frame, v, arena_.Opaque(why, KindOf(frame, v)));
  }

  void RunBlock(int frame, const Block& block) {
    for (std::size_t i = 0; i < block.nodes.size(); ++i) {
      if (++steps_ > kMaxSteps) {
        execution_.too_large = true;
        return;
      }
      RunNode(frame, block, i);
    }
  }

  void RunNode(int frame, const Block& block, std::size_t position) {
    const Node& node = block.nodes[position];
    const Ids args = Get(frame, node.inputs);
    const std::size_t before = arena_.size();
    if (node.op.starts_with("prim::")) {
      RunPrim(frame, node, args);
    } else {
      RunOperation(frame, node, args);
    }
    for (const int v : node.outputs) {
      const Id id = F(frame).values[v];
      if (static_cast<std::size_t>(id) >= before) arena_.SetSource(id, node.source);
    }
  }

  void RunPrim(int frame, const Node& node, const Ids& args) {
    const std::string_view op = std::string_view(node.op).substr(6);
    if (op == "Constant") {
      Set(frame, node.outputs[0],
          node.constant >= 0 ? arena_.Const(program_.constants[node.constant])
                             : arena_.Opaque("function", Kind::kOther));
    } else if (op == "GetAttr" && args.size() == 1) {
      Set(frame, node.outputs[0], Attribute(args[0], node, KindOf(frame, node.outputs[0])));
    } else if (op == "CallMethod" && !args.empty()) {
      CallMethod(frame, node, args);
    } else if (op == "CallFunction" && node.callee >= 0 && !args.empty()) {
      Call(frame, node, node.callee, Ids(args.begin() + 1, args.end()), -1);
    } else if (op == "TupleConstruct") {
      Set(frame, node.outputs[0], arena_.Tuple(args));
    } else if (op == "ListConstruct") {
      Set(frame, node.outputs[0], arena_.List(args));
    } else if ((op == "TupleUnpack" || op == "ListUnpack") && args.size() == 1) {
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        const int v = node.outputs[i];
        const Id item =
            arena_.Item(args[0], arena_.Int(static_cast<std::int64_t>(i)), KindOf(frame, v));
        arena_.Alias(item, args[0]);
        Set(frame, v, item);
      }
    } else if (op == "TupleIndex" && args.size() == 2) {
      const Id item = arena_.Item(args[0], args[1], KindOf(frame, node.outputs[0]));
      arena_.Alias(item, args[0]);
      Set(frame, node.outputs[0], item);
    } else if (op == "DictConstruct") {
      SetOpaque(frame, node, "dictionary");
      for (const Id id : args) arena_.Alias(F(frame).values[node.outputs[0]], id);
    } else if (op == "NumToTensor" && args.size() == 1) {
      // A whole number and the 0-dimensional tensor of it are one thing to the rules.
      Set(frame, node.outputs[0],
          arena_[args[0]].kind == Kind::kInt ? args[0] : arena_.Raw("num_to_tensor", args));
    } else if (op == "dtype" && args.size() == 1) {
      Set(frame, node.outputs[0], arena_.DTypeOf(args[0]));
    } else if (op == "device" && args.size() == 1) {
      Set(frame, node.outputs[0], arena_.Raw("device", args, Kind::kDevice));
    } else if (op == "unchecked_cast" && args.size() == 1) {
      // An optional value whose content was not known is a tensor from here on.
      const Kind kind = KindOf(frame, node.outputs[0]);
      const bool unknown = arena_[args[0]].kind == Kind::kOther && kind != Kind::kOther;
      const Id id = unknown ? arena_.Raw("unchecked_cast", args, kind) : args[0];
      arena_.Alias(id, args[0]);
      Set(frame, node.outputs[0], id);
    } else if (op == "If" && args.size() == 1 && node.blocks.size() == 2) {
      const Expr& condition = arena_[args[0]];
      if (condition.op == "const" && condition.kind == Kind::kBool) {
        const Block& taken = node.blocks[condition.constant.integer ? 0 : 1];
        F(frame).never_run.push_back(&node.blocks[condition.constant.integer ? 1 : 0]);
        RunBlock(frame, taken);
        const Ids results = Get(frame, taken.outputs);
        for (std::size_t i = 0; i < node.outputs.size() && i < results.size(); ++i) {
          Set(frame, node.outputs[i], results[i]);
        }
      } else {
        ControlFlow(frame, node, args);
      }
    } else if (!node.blocks.empty()) {
      ControlFlow(frame, node, args);
    } else if (op == "Enter" || op == "Exit") {
      execution_.autocast = true;
      F(frame).pure = false;
      SetOpaque(frame, node, node.op);
    } else {
      const bool harmless = OneOf(op, {"Uninitialized", "min", "max", "layout", "Print", "is_cuda",
                                       "requires_grad", "shape"});
      F(frame).pure = F(frame).pure && harmless && op != "Print";
      SetOpaque(frame, node, node.op);
      if (op == "SetAttr" && args.size() == 2) {
        arena_.Alias(args[1], escaped_);  // seen again as an attribute that is not followed
      } else if (!harmless) {
        Touch(node, args, frame, true);
      }
    }
  }

  Id Attribute(Id object, const Node& node, Kind kind) {
    const Expr& o = arena_[object];
    const Constant* value = o.op == "object" ? program_.objects[o.owner].Find(node.name) : nullptr;
    const bool followed = value && value->kind != Kind::kOther &&
                          !mutable_attributes_.contains(node.name) &&
                          !(changes_lists_ && value->kind == Kind::kList);
    if (!followed) {
      const Id id = arena_.Opaque(node.name, kind);
      arena_.Alias(id, escaped_);
      if (value && value->kind == Kind::kTensor) {
        arena_.Alias(id, arena_.Param(o.owner, node.name, *value));
      }
      return id;
    }
    if (value->kind == Kind::kTensor) return arena_.Param(o.owner, node.name, *value);
    return arena_.Const(*value);
  }

  // Memory is written now. What code that is not followed may reach includes every parameter.
  void WriteMemory(Id id) {
    arena_.Write(id);
    if (arena_.Written(escaped_) || arena_[id].kind == Kind::kObject) WriteParameters();
  }

  void WriteParameters() {
    if (parameters_written_) return;
    parameters_written_ = true;
    arena_.Write(escaped_);
    for (std::size_t o = 0; o < program_.objects.size(); ++o) {
      for (const auto& [name, value] : program_.objects[o].attributes) {
        if (value.kind == Kind::kTensor) {
          arena_.Write(arena_.Param(static_cast<int>(o), name, value));
        }
      }
    }
  }

  void CallMethod(int frame, const Node& node, const Ids& args) {
    const Expr& self = arena_[args[0]];
    if (self.op == "object") {
      const auto& methods = program_.objects[self.owner].methods;
      const auto it = methods.find(node.name);
      if (it != methods.end()) return Call(frame, node, it->second, args, self.owner);
    }
    F(frame).pure = false;
    SetOpaque(frame, node, node.name);
    Touch(node, args, frame, analysis_.MayWrite(node));
    execution_.unseen_calls.push_back(&node);
  }

  void Call(int frame, const Node& node, int graph, const Ids& args, int object) {
    int callee = -1;
    const Id result = Run(graph, args, object, frame, &callee);
    F(frame).callees[&node] = callee;
    if (!F(callee).pure) F(frame).pure = false;
    if (!node.outputs.empty()) Set(frame, node.outputs[0], result);
  }

  // The results of `node` may share memory with everything that it sees and, where it may write,
  // all of that and every parameter count as written.
  void Touch(const Node& node, const Ids& args, int frame, bool may_write) {
    for (const int v : node.outputs) {
      for (const Id id : args) arena_.Alias(F(frame).values[v], id);
      arena_.Alias(F(frame).values[v], escaped_);
    }
    for (const Id id : args) arena_.MarkViewed(id);
    if (!may_write) return;
    for (const Id id : args) arena_.Write(id);
    WriteParameters();
  }

  void ControlFlow(int frame, const Node& node, Ids args) {
    NestedReads reads;
    std::unordered_set<int> inner;
    bool may_write = false;
    for (const Block& b : node.blocks) {
      CollectNested(b, inner, reads);
      may_write = may_write || analysis_.BlockMayWrite(b);
    }
    std::vector<int> read(reads.values.begin(), reads.values.end());
    std::sort(read.begin(), read.end());
    const Ids seen = Get(frame, read);
    args.insert(args.end(), seen.begin(), seen.end());
    F(frame).has_branch = true;
    execution_.unseen_calls.push_back(&node);
    SetOpaque(frame, node, node.op == "prim::If" ? "branch" : "loop");
    // An exception is an effect: a frame that may raise is not dropped.
    F(frame).pure = false;
    if (reads.reads_layout) {
      for (const Id id : args) arena_.MarkLayoutRead(id);
    }
    // A number that a tensor stands for may be written as one.
    for (const int v : read) {
      if (may_write && KindOf(frame, v) == Kind::kTensor && !arena_.IsTensor(F(frame).values[v])) {
        execution_.writes_constant = true;
      }
    }
    Touch(node, args, frame, may_write);
  }

  // libtorch calls a dropout random unless its graph itself says that it does not train.
  bool IsDropoutThatDoesNothing(const std::string& op, const Ids& args) const {
    return OneOf(op, {"dropout", "feature_dropout"}) && args.size() == 3 &&
           arena_.IsIdleDropout(args);
  }

  void RunOperation(int frame, const Node& node, const Ids& args) {
    const bool aten = node.op.starts_with("aten::");
    const std::string op = aten ? node.op.substr(6) : node.op;
    if (!node.known_schema) {
      F(frame).pure = false;
      SetOpaque(frame, node, op);
      return Touch(node, args, frame, true);
    }
    if (node.has_effects || !aten) F(frame).pure = false;
    if (node.writes != 0) return Write(frame, node, op, args);
    if (OneOf(op, {"view", "view_as", "unflatten"}) && !args.empty() &&
        !IsContiguousCall(Index(frame).Definition(node.inputs[0]))) {
      arena_.MarkViewed(args[0]);
    }
    if (ReadsLayout(node.op)) {
      for (const Id id : args) arena_.MarkLayoutRead(id);
      SetOpaque(frame, node, op);
    } else if ((node.random && !IsDropoutThatDoesNothing(op, args)) || op.starts_with("empty") ||
               op.starts_with("new_empty")) {
      SetOpaque(frame, node, op);
    } else if (node.outputs.size() == 1) {
      Set(frame, node.outputs[0], arena_.Op(op, args, KindOf(frame, node.outputs[0])));
    } else {
      const Id all = arena_.Raw(op, args, Kind::kTuple);
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        const int v = node.outputs[i];
        Set(frame, v, arena_.Item(all, arena_.Int(static_cast<std::int64_t>(i)), KindOf(frame, v)));
      }
    }
    ShareMemory(frame, node, args);
  }

  // Tensors and what may hold some: not a list of numbers.
  bool HasMemory(Id id) const {
    const Expr& e = arena_[id];
    if (e.op == "list" || e.op == "tuple") {
      return std::any_of(e.args.begin(), e.args.end(), [&](Id item) { return HasMemory(item); });
    }
    return e.kind == Kind::kTensor || e.kind == Kind::kList || e.kind == Kind::kTuple ||
           e.kind == Kind::kOther;
  }

  void ShareMemory(int frame, const Node& node, const Ids& args) {
    const bool known_fresh =
        node.op.starts_with("aten::") && MakesFresh(std::string_view(node.op).substr(6));
    for (std::size_t j = 0; j < node.outputs.size(); ++j) {
      const Id out = F(frame).values[node.outputs[j]];
      const std::uint64_t mask = j < node.aliases.size() ? node.aliases[j] : 0;
      for (std::size_t i = 0; i < args.size() && i < 64; ++i) {
        const bool may_share = (mask >> i & 1) != 0 || (mask == 0 && !known_fresh);
        if (may_share && HasMemory(args[i]) && HasMemory(out)) arena_.Alias(out, args[i]);
      }
    }
  }

  const GraphIndex& Index(int frame) {
    const int graph = F(frame).graph;
    auto it = indices_.find(graph);
    if (it == indices_.end()) it = indices_.emplace(graph, program_.graphs[graph]).first;
    return it->second;
  }

  // An in-place operation. Where its operand was made here, for this use alone, it is the
  // operation that makes a new tensor; else the memory counts as written.
  void Write(int frame, const Node& node, const std::string& op, const Ids& args) {
    const Node* made = node.inputs.empty() ? nullptr : Index(frame).Definition(node.inputs[0]);
    const std::string functional = op.ends_with('_') ? op.substr(0, op.size() - 1) : op;
    const bool fresh = made && made->op.starts_with("aten::") && made->known_schema &&
                       made->writes == 0 && made->outputs.size() == 1 && !made->aliases.empty() &&
                       made->aliases[0] == 0 && !made->random &&
                       MakesFresh(std::string_view(made->op).substr(6));
    if (node.writes == 1 && fresh && Index(frame).Uses(node.inputs[0]).size() == 1 &&
        node.outputs.size() == 1 && arena_[args[0]].dtype >= 0 && !arena_.IsConst(args[0]) &&
        arena_[args[0]].op != "param" &&
        OneOf(functional, {"add", "mul", "sub", "div", "neg", "tanh", "relu", "silu", "sigmoid"})) {
      const Id r = arena_.Op(functional, args);
      // In place the result keeps the operand's dtype and shape.
      const Expr &a = arena_[args[0]], &b = arena_[r];
      const bool unary = args.size() == 1;
      // In place an operand that would make the result larger raises; one of a lower or the same
      // rank does nothing else.
      const Expr& operand = arena_[args[unary ? 0 : 1]];
      const bool same_shape = unary || !arena_.IsTensor(args[1]) ||
                              (a.has_shape && b.has_shape && a.shape == b.shape) ||
                              (operand.rank >= 0 && operand.rank <= a.rank);
      if (b.dtype == a.dtype && same_shape) {
        F(frame).local_writes.insert(&node);
        Set(frame, node.outputs[0], r);
        return;
      }
    }
    F(frame).pure = false;
    // set_ makes its operand another tensor's memory, which its schema does not say.
    const bool joins = OneOf(op, {"set_", "set_data"});
    for (std::size_t i = 0; i < args.size() && i < 64; ++i) {
      if (joins && HasMemory(args[i])) arena_.Alias(args[0], args[i]);
      if ((node.writes >> i & 1) == 0) continue;
      WriteMemory(args[i]);
      // In place on the tensor of a number, which is the number itself to the rules.
      if (arena_.IsTensor(args[i]) || HasMemory(args[i])) continue;
      execution_.writes_constant = true;
    }
    SetOpaque(frame, node, op);
    // Arithmetic in place keeps its operand's dtype and shape.
    if (node.writes == 1 && node.outputs.size() == 1 && arena_.IsTensor(args[0]) &&
        OneOf(functional, {"add", "mul", "sub", "div", "neg", "tanh", "relu", "silu", "sigmoid",
                           "exp", "clamp", "fill", "zero", "copy", "masked_fill", "index_add"})) {
      arena_.CopyFacts(F(frame).values[node.outputs[0]], args[0]);
    }
    ShareMemory(frame, node, args);
    for (std::size_t i = 0; i < args.size() && i < 64; ++i) {
      if ((node.writes >> i & 1) == 0) continue;
      for (const int v : node.outputs) arena_.Alias(F(frame).values[v], args[i]);
    }
  }

  const Program& program_;
  Execution& execution_;
  Arena& arena_;
  WriteAnalysis analysis_;
  Id escaped_ = -1;
  bool parameters_written_ = false;
  bool changes_lists_ = false;
  std::unordered_set<std::string> mutable_attributes_;
  std::unordered_map<int, GraphIndex> indices_;
  int depth_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace

Execution Execute(const Program& program, const std::vector<DType>& input_dtypes, bool trains) {
  Execution execution;
  const Object& root = program.objects[program.root];
  const auto it = root.methods.find("forward");
  if (it == root.methods.end()) return execution;
  Arena& arena = execution.arena;
  const Graph& graph = program.graphs[it->second];
  Executor executor(program, execution, arena);
  if (trains) executor.Train();
  Ids args;
  std::size_t tensors = 0;
  for (std::size_t i = 0; i < graph.body.inputs.size(); ++i) {
    if (i == 0) {
      args.push_back(arena.ObjectRef(program.root));
      continue;
    }
    const Kind kind = graph.kinds[graph.body.inputs[i]];
    const Id id = arena.Opaque("input", kind);
    if (kind == Kind::kTensor) {
      if (tensors < input_dtypes.size()) arena.SetDType(id, input_dtypes[tensors]);
      ++tensors;
    }
    // A caller may pass one tensor twice, in a list, or pass a parameter: a write to one input is a
    // write to all of these.
    arena.Alias(id, executor.escaped());
    args.push_back(id);
  }
  const Id result = executor.Run(it->second, args, program.root, -1);
  // The caller may take a view of what it gets.
  arena.MarkViewed(result);
  for (std::size_t i = 0; i < arena.size(); ++i) {
    const Id id = static_cast<Id>(i);
    if (arena.IsConst(id) && arena.IsTensor(id) && arena.Written(id)) {
      execution.writes_constant = true;
    }
  }
  return execution;
}

std::unordered_set<int> UnseenGraphs(const Program& program, const Execution& execution) {
  std::unordered_set<int> graphs;
  for (const Node* node : execution.unseen_calls) AddCallees(program, *node, graphs);
  for (const auto& [name, graph] : program.objects[program.root].methods) {
    if (name != "forward") AddGraph(program, graph, graphs);
  }
  return graphs;
}

Id ExecuteFunction(const Program& program, int graph, const Ids& args, Arena& arena) {
  Execution scratch;
  return Executor(program, scratch, arena).Run(graph, args, -1, -1);
}

}  // namespace kernelmap::expr
