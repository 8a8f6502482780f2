#include "rewriter/verify_float32.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <set>

namespace kernelmap {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;

bool Is16Bit(at::ScalarType type) { return type == at::kBFloat16 || type == at::kHalf; }

c10::IValue Widened(const c10::IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined()) return value;
  return Is16Bit(value.toTensor().scalar_type()) ? value.toTensor().to(at::kFloat)
                                                 : value.toTensor();
}

bool IsDType(const c10::Argument& argument) {
  const c10::Type* type = argument.real_type().get();
  if (const auto* optional = type->castRaw<c10::OptionalType>()) {
    type = optional->getElementType().get();
  }
  return type->kind() == c10::TypeKind::ScalarTypeType;
}

class GraphWidener {
 public:
  void Widen(Graph& graph) {
    if (seen_.insert(&graph).second) Widen(graph.block());
  }

 private:
  void Widen(Block* block) {
    for (Node* node : block->nodes()) {
      if (node->kind() == c10::prim::Constant) {
        WidenConstant(node);
      } else if (const c10::FunctionSchema* schema = node->maybeSchema()) {
        for (size_t i = 0; i < schema->arguments().size() && i < node->inputs().size(); ++i) {
          if (IsDType(schema->arguments()[i])) WidenDType(node, i);
        }
      }
      if (node->hasAttribute(c10::attr::Subgraph)) Widen(*node->g(c10::attr::Subgraph));
      for (Block* inner : node->blocks()) Widen(inner);
    }
  }

  void WidenConstant(Node* node) {
    if (node->hasAttribute(c10::attr::value) &&
        node->kindOf(c10::attr::value) == torch::jit::AttributeKind::t) {
      node->t_(c10::attr::value, Widened(node->t(c10::attr::value)).toTensor());
    } else if (const auto type = node->output()->type()->cast<c10::FunctionType>()) {
      Widen(*torch::jit::toGraphFunction(*type->function()).graph());
    }
  }

  // The constant may also be a dimension somewhere: only this use of it changes.
  static void WidenDType(Node* node, size_t input) {
    const auto value = torch::jit::toIValue(node->input(input));
    if (!value || !value->isInt() || !Is16Bit(static_cast<at::ScalarType>(value->toInt()))) return;
    torch::jit::WithInsertPoint here(node);
    node->replaceInput(input,
                       node->owningGraph()->insertConstant(static_cast<int64_t>(at::kFloat)));
  }

  std::set<const Graph*> seen_;
};

}  // namespace

void ConvertToFloat32(torch::jit::Module& model) {
  GraphWidener widener;
  for (const torch::jit::Module& module : model.modules()) {
    const auto object = module._ivalue();
    for (size_t i = 0; i < object->slots().size(); ++i) {
      object->setSlot(i, Widened(object->getSlot(i)));
    }
    for (torch::jit::Function* method : module.type()->methods()) {
      if (method->isGraphFunction()) widener.Widen(*torch::jit::toGraphFunction(*method).graph());
    }
  }
}

bool Has16BitTensors(const torch::jit::Module& model, const std::vector<c10::IValue>& inputs) {
  for (const at::Tensor& tensor : model.parameters()) {
    if (Is16Bit(tensor.scalar_type())) return true;
  }
  for (const at::Tensor& tensor : model.buffers()) {
    if (Is16Bit(tensor.scalar_type())) return true;
  }
  for (const c10::IValue& input : inputs) {
    if (input.isTensor() && Is16Bit(input.toTensor().scalar_type())) return true;
  }
  return false;
}

std::vector<c10::IValue> ToFloat32(const std::vector<c10::IValue>& inputs) {
  std::vector<c10::IValue> out;
  out.reserve(inputs.size());
  for (const c10::IValue& input : inputs) out.push_back(Widened(input));
  return out;
}

}  // namespace kernelmap
