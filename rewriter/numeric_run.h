// Running graphs for trials, without a trace in the model: apart from graph executors, on copies.
#pragma once

#include <ATen/core/Generator.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <memory>
#include <string>
#include <vector>

namespace kernelmap {

using Tensors = std::vector<at::Tensor>;
using ModuleObject = c10::intrusive_ptr<c10::ivalue::Object>;

/// A copy of the graph without calls. The functions that it calls stay as they were: running them
/// would make edits of theirs invisible.
std::shared_ptr<torch::jit::Graph> WithoutCalls(torch::jit::Graph& graph);

/// The one result. Throws what the code throws.
c10::IValue RunCode(const torch::jit::Code& code, torch::jit::Stack stack);

/// While it is alive, what is random does not count: it goes on later as if nothing had run.
class KeepRandomState {
 public:
  KeepRandomState();
  ~KeepRandomState();
  KeepRandomState(const KeepRandomState&) = delete;
  KeepRandomState& operator=(const KeepRandomState&) = delete;

 private:
  at::Generator generator_;
  at::Tensor state_;
};

/// All tensors that a module and what is in it hold, in slot order.
Tensors TensorsOf(const ModuleObject& object);

Tensors Clones(const Tensors& tensors);  // undefined ones stay so
bool SameBytes(const Tensors& a, const Tensors& b);

}  // namespace kernelmap
