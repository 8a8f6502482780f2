#include "rewriter/torchscript/edit.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <map>
#include <set>

#include "rewriter/torchscript/fusion_parameters.h"

namespace kernelmap::torchscript {
namespace {

namespace aten = c10::aten;
namespace prim = c10::prim;
using torch::jit::Graph;
using torch::jit::Value;
// Of TorchScript; expr::Node is the neutral one.
using TorchNode = torch::jit::Node;

// Every value is made before it is read: libtorch's own lint does not look in release builds, and
// saving a graph that breaks the rule ends the program.
void CheckOrder(torch::jit::Block& block, std::set<const Value*> defined) {
  for (const Value* v : block.inputs()) defined.insert(v);
  for (TorchNode* node : block.nodes()) {
    for (const Value* v : node->inputs()) {
      TORCH_CHECK(defined.contains(v), "a value is read before it is made: ", v->debugName());
    }
    for (torch::jit::Block* inner : node->blocks()) CheckOrder(*inner, defined);
    for (const Value* v : node->outputs()) defined.insert(v);
  }
  for (const Value* v : block.outputs()) {
    TORCH_CHECK(defined.contains(v), "a value is returned but not made: ", v->debugName());
  }
}

constexpr int kMaxNesting = 16;

bool HasCall(Graph& graph) {
  for (TorchNode* node : graph.nodes()) {
    if (node->kind() == prim::CallFunction) return true;
  }
  return false;
}

class Editor {
 public:
  Editor(const expr::Execution& execution, const CompiledReferences& references, Imported& imported,
         bool self_mode)
      : execution_(execution),
        references_(references),
        imported_(imported),
        self_mode_(self_mode) {}

  void Apply(const SiteEdit& site) {
    const expr::Edit& edit = site.edit;
    ImportedGraph& where = imported_.graphs[edit.graph];
    TorchNode* before = edit.before ? imported_.nodes.at(edit.before) : where.graph->return_node();
    torch::jit::WithInsertPoint point(before);
    const bool stock = self_mode_ && !site.reference_name.empty();
    const std::vector<Value*> results = Insert(site, stock, edit.replaced.size() > 1);
    for (std::size_t i = 0; i < results.size(); ++i) {
      Replace(edit, where, where.values[edit.replaced[i]], results[i], before);
    }
    for (const auto& [value, output] : edit.repeated) {
      Replace(edit, where, where.values[value], results[output], before);
    }
    touched_.insert(edit.graph);
  }

  void Fuse(const FusionEdit& fusion) {
    if (fusion.same_input) {
      FuseSameInput(fusion);
    } else {
      Apply(fusion.fused);
    }
    // The other members hand on what they get.
    for (std::size_t i = 1; i < fusion.graphs.size(); ++i) {
      Graph& graph = *imported_.graphs[fusion.graphs[i]].graph;
      graph.return_node()->replaceInput(0, graph.inputs()[1]);
      touched_.insert(fusion.graphs[i]);
    }
  }

  // Removes what only the stock code needed, and checks the graphs.
  void Finish() {
    IndexCallees();
    for (const int index : touched_) {
      Graph& graph = *imported_.graphs[index].graph;
      RemoveDead(*graph.block());
      graph.lint();
      CheckOrder(*graph.block(), {});
    }
  }

 private:
  // The kernel's code at the insertion point; its results.
  std::vector<Value*> Insert(const SiteEdit& site, bool stock, bool several) {
    const expr::Edit& edit = site.edit;
    ImportedGraph& where = imported_.graphs[edit.graph];
    Graph& graph = *where.graph;
    const std::shared_ptr<Graph> code = Code(site, stock);
    std::vector<Value*> operands;
    for (std::size_t i = 0; i < edit.operands.size(); ++i) {
      operands.push_back(Operand(edit.operands[i], where, *code->inputs()[i]->type()));
    }
    std::vector<Value*> results = torch::jit::insertGraph(graph, *code, operands);
    if (results.size() == 1 && several) {
      TorchNode* unpack = graph.insertNode(graph.createTupleUnpack(results[0]));
      results.assign(unpack->outputs().begin(), unpack->outputs().end());
    }
    if (!edit.needs_contiguous || stock || site.implementation->contiguous_output) return results;
    for (Value*& result : results) {
      TorchNode* contiguous =
          graph.insertNode(graph.create(aten::contiguous, {result, graph.insertConstant(0)}, 1));
      contiguous->output()->setType(c10::TensorType::get());
      result = contiguous->output();
    }
    return results;
  }

  // The first member returns one result a member; the parent gives the others theirs.
  void FuseSameInput(const FusionEdit& fusion) {
    const int index = fusion.fused.edit.graph;
    Graph& graph = *imported_.graphs[index].graph;
    Value* tuple = nullptr;
    {
      torch::jit::WithInsertPoint point(graph.return_node());
      const std::vector<Value*> results = Insert(fusion.fused, false, true);
      TORCH_CHECK(results.size() == fusion.calls.size(), "a fused kernel's number of results");
      tuple = graph.insertNode(graph.createTuple(results))->output();
      graph.return_node()->replaceInput(0, tuple);
    }
    touched_.insert(index);
    for (const auto& [function, number] : imported_.functions) {
      if (number != index) continue;
      auto* changed = const_cast<torch::jit::Function*>(function);
      changed->setSchema(changed->getSchema().cloneWithReturns({c10::Argument("", tuple->type())}));
    }
    Graph& parent = *imported_.graphs[fusion.parent_graph].graph;
    TorchNode* call = imported_.nodes.at(fusion.calls[0]);
    call->output()->setType(tuple->type());
    torch::jit::WithInsertPoint point(call->next());
    TorchNode* unpack = parent.insertNode(parent.createTupleUnpack(call->output()));
    call->output()->replaceAllUsesAfterNodeWith(unpack, unpack->outputs()[0]);
    for (std::size_t i = 1; i < fusion.calls.size(); ++i) {
      imported_.nodes.at(fusion.calls[i])->replaceInput(1, unpack->outputs()[i]);
    }
    touched_.insert(fusion.parent_graph);
  }

  std::shared_ptr<Graph> Code(const SiteEdit& site, bool stock) {
    torch::jit::Function* function =
        stock ? references_.stock.at({site.reference_layer, site.reference_name})
              : references_.implementations.at(site.implementation);
    auto code = torch::jit::toGraphFunction(*function).graph()->copy();
    // Once a level of nesting: a process with the executor's optimisation off inlines one at a
    // time.
    for (int level = 0; level < kMaxNesting && HasCall(*code); ++level) torch::jit::Inline(*code);
    TORCH_CHECK(!HasCall(*code), "calls in a kernel's code are nested too deeply");
    // What stays of a call is a constant that names a function of ours, which does not outlive
    // this.
    torch::jit::EliminateDeadCode(code);
    return code;
  }

  Value* Operand(const expr::Operand& operand, ImportedGraph& where, const c10::Type& wanted) {
    Graph& graph = *where.graph;
    switch (operand.from) {
      case expr::Operand::From::kInt:
        if (wanted.kind() == c10::TypeKind::FloatType) return graph.insertConstant(operand.real);
        return graph.insertConstant(operand.integer);
      case expr::Operand::From::kFloat:
        return graph.insertConstant(operand.real);
      case expr::Operand::From::kAttribute: {
        Value* value = graph.inputs()[0];
        for (const std::string& name : operand.path) value = graph.insertGetAttr(value, name);
        return value;
      }
      case expr::Operand::From::kValue:
        break;
    }
    Value* value = Current(where.values[operand.value]);
    if (value->type()->kind() != c10::TypeKind::OptionalType) return value;
    TorchNode* cast = graph.insertNode(graph.create(prim::unchecked_cast, {value}, 1));
    cast->output()->setType(c10::TensorType::get());
    return cast->output();
  }

  // A value that an earlier edit replaced.
  Value* Current(Value* value) {
    for (auto it = replaced_.find(value); it != replaced_.end(); it = replaced_.find(value)) {
      value = it->second;
    }
    return value;
  }

  void Replace(const expr::Edit& edit, ImportedGraph& where, Value* old, Value* result,
               TorchNode* before) {
    if (edit.result_only) {
      TorchNode* end = edit.before ? before : where.graph->return_node();
      for (std::size_t i = 0; i < end->inputs().size(); ++i) {
        if (end->input(i) == old) end->replaceInput(i, result);
      }
      return;
    }
    old->replaceAllUsesAfterNodeWith(result->node(), result);
    replaced_[old] = result;
  }

  // Which calls may be dropped: those whose every run was seen to have no effect.
  void IndexCallees() {
    for (const expr::Frame& frame : execution_.frames) {
      for (const auto& [node, callee] : frame.callees) {
        if (!execution_.frames[callee].pure) impure_calls_.insert(imported_.nodes.at(node));
        known_calls_.insert(imported_.nodes.at(node));
      }
      for (const expr::Node* node : frame.local_writes) {
        local_writes_.insert(imported_.nodes.at(node));
      }
    }
  }

  bool Removable(TorchNode* node) const {
    if (node->hasUses() || !node->blocks().empty()) return false;
    const c10::Symbol kind = node->kind();
    if (kind == prim::CallMethod || kind == prim::CallFunction) {
      return known_calls_.contains(node) && !impure_calls_.contains(node);
    }
    static const std::set<c10::Symbol> kPure = {
        prim::Constant,   prim::GetAttr,       prim::TupleConstruct, prim::TupleUnpack,
        prim::TupleIndex, prim::ListConstruct, prim::ListUnpack,     prim::NumToTensor,
        prim::dtype,      prim::device,        prim::unchecked_cast};
    if (kPure.contains(kind)) return true;
    if (!kind.is_aten() || node->hasSideEffects() || node->isNondeterministic()) return false;
    if (local_writes_.contains(node)) return true;
    const c10::FunctionSchema* schema = node->maybeSchema();
    return schema && !schema->is_mutable();
  }

  void RemoveDead(torch::jit::Block& block) {
    std::vector<TorchNode*> nodes(block.nodes().begin(), block.nodes().end());
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
      for (torch::jit::Block* inner : (*it)->blocks()) RemoveDead(*inner);
      if (Removable(*it)) (*it)->destroy();
    }
  }

  const expr::Execution& execution_;
  const CompiledReferences& references_;
  Imported& imported_;
  bool self_mode_;
  std::map<Value*, Value*> replaced_;
  std::set<int> touched_;
  std::set<TorchNode*> known_calls_, impure_calls_, local_writes_;
};

}  // namespace

void ApplyEdits(const SiteDecisions& decisions, const expr::Execution& execution,
                const CompiledReferences& references, Imported& imported, bool self_mode) {
  AddParameters(decisions.fusions, imported);
  Editor editor(execution, references, imported, self_mode);
  for (const SiteEdit& edit : decisions.edits) editor.Apply(edit);
  for (const FusionEdit& fusion : decisions.fusions) editor.Fuse(fusion);
  editor.Finish();
  RemoveUnused(decisions.fusions, imported);
}

void AssertInputDTypes(const std::vector<std::string>& dtypes, Graph& forward) {
  torch::jit::WithInsertPoint point(*forward.nodes().begin());
  std::size_t tensor = 0;
  for (std::size_t i = 1; i < forward.inputs().size() && tensor < dtypes.size(); ++i) {
    Value* input = forward.inputs()[i];
    if (input->type()->kind() != c10::TypeKind::TensorType) continue;
    const std::string& dtype = dtypes[tensor++];
    const auto known = expr::DTypeFromName(dtype);
    TORCH_CHECK(known, "unknown dtype ", dtype);
    const CompiledSource check = CompileSource(
        "def forward(x: Tensor) -> Tensor:\n"
        "    if x.dtype != " +
        std::to_string(*known) +
        ":\n"
        "        raise RuntimeError(\"kernelmap: input " +
        std::to_string(tensor - 1) + " must be " + dtype +
        "\")\n"
        "    return x\n");
    const auto code = torch::jit::toGraphFunction(*check.forward).graph()->copy();
    torch::jit::insertGraph(forward, *code, {input});
  }
}

}  // namespace kernelmap::torchscript
