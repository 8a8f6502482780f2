#include "rewriter/torchscript/edit.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <map>
#include <set>

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
    Graph& graph = *where.graph;
    TorchNode* before = edit.before ? imported_.nodes.at(edit.before) : graph.return_node();
    torch::jit::WithInsertPoint point(before);
    const std::shared_ptr<Graph> code = Code(site);
    std::vector<Value*> operands;
    for (std::size_t i = 0; i < edit.operands.size(); ++i) {
      operands.push_back(Operand(edit.operands[i], where, *code->inputs()[i]->type()));
    }
    std::vector<Value*> results = torch::jit::insertGraph(graph, *code, operands);
    if (results.size() == 1 && edit.replaced.size() > 1) {
      TorchNode* unpack = graph.insertNode(graph.createTupleUnpack(results[0]));
      results.assign(unpack->outputs().begin(), unpack->outputs().end());
    }
    const bool copy =
        edit.needs_contiguous && !self_mode_ && !site.implementation->contiguous_output;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (copy) {
        TorchNode* contiguous = graph.insertNode(
            graph.create(aten::contiguous, {results[i], graph.insertConstant(0)}, 1));
        contiguous->output()->setType(c10::TensorType::get());
        results[i] = contiguous->output();
      }
      Replace(edit, where, where.values[edit.replaced[i]], results[i], before);
    }
    touched_.insert(edit.graph);
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
  std::shared_ptr<Graph> Code(const SiteEdit& site) {
    torch::jit::Function* function =
        self_mode_ ? references_.stock.at({site.reference_layer, site.reference_name})
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

void ApplyEdits(const std::vector<SiteEdit>& edits, const expr::Execution& execution,
                const CompiledReferences& references, Imported& imported, bool self_mode) {
  Editor editor(execution, references, imported, self_mode);
  for (const SiteEdit& edit : edits) editor.Apply(edit);
  editor.Finish();
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
