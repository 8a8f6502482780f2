#include "rewriter/numeric_run.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <functional>
#include <set>

#include "rewriter/verify_compare.h"

namespace kernelmap {
namespace {

void CollectTensors(const c10::IValue& value, std::set<const void*>* seen, Tensors* out) {
  if (value.isTensor() && value.toTensor().defined()) out->push_back(value.toTensor());
  if (!value.isObject() || !seen->insert(value.toObject().get()).second) return;
  for (const c10::IValue& slot : value.toObject()->slots()) CollectTensors(slot, seen, out);
}

}  // namespace

std::shared_ptr<torch::jit::Graph> WithoutCalls(torch::jit::Graph& graph) {
  constexpr int kMaxCalls = 10000;
  std::shared_ptr<torch::jit::Graph> copy = graph.copy();
  int calls = 0;
  const std::function<bool(torch::jit::Block*)> inline_first = [&](torch::jit::Block* block) {
    for (torch::jit::Node* node : block->nodes()) {
      for (torch::jit::Block* inner : node->blocks()) {
        if (inline_first(inner)) return true;
      }
      torch::jit::GraphFunction* callee = torch::jit::tryToGraphFunction(node);
      if (!callee) continue;
      if (node->kind() == c10::prim::CallFunction) node->removeInput(0);
      torch::jit::inlineCallTo(node, callee, callee->graph().get());
      return true;
    }
    return false;
  };
  while (inline_first(copy->block())) TORCH_CHECK(++calls < kMaxCalls, "it makes too many calls");
  torch::jit::EliminateDeadCode(copy);
  return copy;
}

c10::IValue RunCode(const torch::jit::Code& code, torch::jit::Stack stack) {
  torch::jit::InterpreterState(code).run(stack);
  TORCH_CHECK(stack.size() == 1, "the code left ", stack.size(), " results");
  return stack[0];
}

KeepRandomState::KeepRandomState() : generator_(at::detail::getDefaultCPUGenerator()) {
  const std::lock_guard<std::mutex> lock(generator_.mutex());
  state_ = generator_.get_state();
}

KeepRandomState::~KeepRandomState() {
  const std::lock_guard<std::mutex> lock(generator_.mutex());
  generator_.set_state(state_);
}

Tensors TensorsOf(const ModuleObject& object) {
  Tensors tensors;
  std::set<const void*> seen;
  CollectTensors(object, &seen, &tensors);
  return tensors;
}

Tensors Clones(const Tensors& tensors) {
  Tensors clones;
  for (const at::Tensor& t : tensors) {
    clones.push_back(t.defined() ? t.clone(at::MemoryFormat::Preserve) : t);
  }
  return clones;
}

bool SameBytes(const Tensors& a, const Tensors& b) {
  Difference difference;
  AddDifference(a, b, &difference);
  return difference.bit_exact;
}

}  // namespace kernelmap
