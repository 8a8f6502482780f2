#include "rewriter/modules/adapters.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/basic_ops.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/interpreter.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "kernels/common/stock_backward.h"

namespace kernelmap {
namespace {

using torch::jit::Stack;

// Code that any number of threads may run. Not through a graph executor: that would specialise the
// code to what it saw first, for nothing.
struct Program {
  torchscript::CompiledSource source;
  torch::jit::Code code;
};

// Lives as long as the process, as registered ops do.
struct State {
  Adapter adapter;
  std::atomic<const Program*> kernel = nullptr, stock = nullptr;
  std::mutex binding;
};

std::mutex states_mutex;

std::map<std::string, std::unique_ptr<State>>& States() {
  static auto* states = new std::map<std::string, std::unique_ptr<State>>;
  return *states;
}

torch::Library& HubLibrary() {
  static auto* library = new torch::Library(torch::Library::FRAGMENT, "kernelmap_hub", std::nullopt,
                                            __FILE__, __LINE__);
  return *library;
}

State* Find(const std::string& op) {
  const std::lock_guard<std::mutex> lock(states_mutex);
  const auto it = States().find(op);
  return it == States().end() ? nullptr : it->second.get();
}

State& Declared(const Adapter& adapter) {
  State* state = Find(adapter.op);
  TORCH_CHECK(state, "kernelmap_hub::", adapter.op, " is not declared");
  return *state;
}

// Operations of the Hub read memory wider than an element, as if it began where torch's own does.
void Align(c10::IValue& value) {
  constexpr uintptr_t kAlignment = 64;
  if (!value.isTensor() || !value.toTensor().defined()) return;
  const at::Tensor& tensor = value.toTensor();
  if (tensor.layout() != at::kStrided || !tensor.has_storage() || tensor.is_meta()) return;
  const auto address = reinterpret_cast<uintptr_t>(tensor.const_data_ptr());
  if (address % kAlignment != 0) value = tensor.clone();
}

void Run(const Program& program, const c10::OperatorHandle& op, Stack* stack, bool align) {
  const size_t count = op.schema().arguments().size();
  Stack own = torch::jit::pop(*stack, count);
  if (align) {
    for (c10::IValue& value : own) Align(value);
  }
  const Stack inputs = own;
  torch::jit::InterpreterState(program.code).run(own);
  TORCH_CHECK(own.size() == 1, op.schema().name(), ": the code left ", own.size(), " results");
  std::vector<c10::IValue> results{own[0]};
  if (op.schema().returns().size() > 1) results = own[0].toTupleRef().elements().vec();
  for (c10::IValue& result : results) {
    // The op says that its results are memory of their own.
    for (const c10::IValue& input : inputs) {
      if (result.isTensor() && input.isTensor() &&
          result.toTensor().is_alias_of(input.toTensor())) {
        result = result.toTensor().clone();
      }
    }
    stack->push_back(std::move(result));
  }
}

// kernelmap_hub::NAME itself.
struct RunKernel : c10::OperatorKernel {
  explicit RunKernel(const State* state) : state(state) {}
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
    const Program* kernel = state->kernel;
    const Program* program = kernel ? kernel : state->stock.load();
    TORCH_CHECK(program, "the kernel behind ", op.schema().name(),
                " is not loaded: load the archive with kernelmap::load, in Python kernelmap.load");
    Run(*program, op, stack, /*align=*/kernel != nullptr);
  }
  const State* state;
};

// kernelmap_hub::NAME_stock, for gradients.
struct RunStock : c10::OperatorKernel {
  explicit RunStock(const State* state) : state(state) {}
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
    const Program* program = state->stock;
    TORCH_CHECK(program, op.schema().name(), " is not loaded");
    Run(*program, op, stack, /*align=*/false);
  }
  const State* state;
};

// Whether a result has a gradient. For an operation without one, torch records a function that only
// warns, in backward.
bool HasGradient(const at::Tensor& result) {
  const auto& function = result.grad_fn();
  return function && function->name().find("NotImplemented") == std::string::npos;
}

// Makes backward through the tensor an error. Nodes are held in one of two ways, by torch's
// version.
template <typename Node>
void RefuseGradient(const at::Tensor& tensor, torch::autograd::edge_list edges,
                    const std::string& why) {
  const std::vector<at::Tensor> tensors{tensor};
  if constexpr (requires(std::shared_ptr<Node> node) {
                  torch::autograd::set_history(tensors, node);
                }) {
    const std::shared_ptr<Node> node =
        std::make_shared<torch::autograd::Error>(why, std::move(edges));
    torch::autograd::set_history(tensors, node);
  } else {
    const c10::intrusive_ptr<Node> node =
        c10::make_intrusive<torch::autograd::Error>(why, std::move(edges));
    torch::autograd::set_history(tensors, node);
  }
}

// kernelmap_hub::NAME where no stock code is known: gradients are those that the kernel has, and
// asking for one that it does not have is an error.
struct RunKernelAlone : c10::OperatorKernel {
  explicit RunKernelAlone(const State* state) : inner(state) {}
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
    const auto arguments = torch::jit::last(*stack, op.schema().arguments().size());
    torch::autograd::variable_list inputs;
    for (const c10::IValue& value : arguments) {
      if (value.isTensor() && value.toTensor().requires_grad()) inputs.push_back(value.toTensor());
    }
    inner(op, keys, stack);
    if (inputs.empty() || !c10::GradMode::is_enabled()) return;
    const size_t count = op.schema().returns().size();
    for (size_t i = stack->size() - count; i < stack->size(); ++i) {
      c10::IValue& result = (*stack)[i];
      if (!result.isTensor() || HasGradient(result.toTensor())) continue;
      at::Tensor tensor = result.toTensor().detach();
      if (!tensor.is_floating_point()) continue;
      RefuseGradient<torch::autograd::Node>(
          tensor, torch::autograd::collect_next_edges(inputs),
          op.schema().name() + " has no gradient, and no stock code is known for it");
      result = tensor;
    }
  }
  RunKernel inner;
};

template <typename Functor>
torch::CppFunction Boxed(std::unique_ptr<Functor> functor) {
  return torch::CppFunction::makeFromBoxedFunctor<Functor>(std::move(functor));
}

const Program* Compile(const torchscript::CompiledSource& source, const std::string& op) {
  auto graph = torch::jit::toGraphFunction(*source.forward).graph()->copy();
  torch::jit::Inline(*graph);
  return new Program{source, torch::jit::Code(graph, op)};
}

void CheckSignature(const Adapter& adapter, const torchscript::CompiledSource& source) {
  const c10::FunctionSchema schema = torch::jit::parseSchema(adapter.op + adapter.schema);
  const c10::FunctionSchema& code = source.forward->getSchema();
  TORCH_CHECK(code.arguments().size() == schema.arguments().size(), adapter.op, ": its code takes ",
              code.arguments().size(), " arguments, not ", schema.arguments().size());
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    TORCH_CHECK(schema.arguments()[i].type()->isSubtypeOf(*code.arguments()[i].type()), adapter.op,
                ": `", schema.arguments()[i].name(), "` is ", code.arguments()[i].type()->str(),
                " in its code");
  }
  // One result is returned as it is, several as a tuple.
  const bool one = schema.returns().size() == 1;
  const bool tuple =
      code.returns().size() == 1 && code.returns()[0].type()->kind() == c10::TypeKind::TupleType;
  TORCH_CHECK(one != tuple, adapter.op, ": its code returns something else than ", adapter.schema);
  std::vector<c10::TypePtr> returns;
  for (const c10::Argument& argument : code.returns()) {
    const auto tuple = argument.type()->cast<c10::TupleType>();
    if (tuple) {
      for (const c10::TypePtr& element : tuple->elements()) returns.push_back(element);
    } else {
      returns.push_back(argument.type());
    }
  }
  bool same = returns.size() == schema.returns().size();
  for (size_t i = 0; same && i < returns.size(); ++i) {
    same = returns[i]->isSubtypeOf(*schema.returns()[i].type());
  }
  TORCH_CHECK(same, adapter.op, ": its code returns something else than ", adapter.schema);
}

void CheckPure(const Adapter& adapter, const torchscript::CompiledSource& source) {
  auto graph = torch::jit::toGraphFunction(*source.forward).graph()->copy();
  torch::jit::Inline(*graph);
  const torch::jit::AliasDb aliases(graph);
  for (const torch::jit::Value* input : graph->inputs()) {
    TORCH_CHECK(!aliases.hasWriters(input), adapter.op, ": its code changes `", input->debugName(),
                "` in place");
  }
}

const Program* CompileStock(const Adapter& adapter) {
  const torchscript::CompiledSource source = torchscript::CompileSource(adapter.stock);
  CheckSignature(adapter, source);
  return Compile(source, adapter.op + "_stock");
}

}  // namespace

void DeclareAdapter(const Adapter& adapter) {
  const std::lock_guard<std::mutex> lock(states_mutex);
  std::unique_ptr<State>& state = States()[adapter.op];
  if (state) {
    TORCH_CHECK(state->adapter == adapter, adapter.op, " is declared already, with other code");
    return;
  }
  auto fresh = std::make_unique<State>();
  fresh->adapter = adapter;
  torch::jit::parseSchema(adapter.op + adapter.schema);  // throws before anything is registered
  torch::Library& library = HubLibrary();
  const std::string stock = adapter.op + "_stock";
  library.def((adapter.op + adapter.schema).c_str());
  if (adapter.stock.empty()) {
    library.impl(adapter.op.c_str(), Boxed(std::make_unique<RunKernelAlone>(fresh.get())));
  } else {
    library.impl(adapter.op.c_str(),
                 torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd,
                                 Boxed(std::make_unique<RunKernel>(fresh.get()))));
    library.impl(adapter.op.c_str(), torch::dispatch(c10::DispatchKey::Autograd, StockBackward()));
    library.def((stock + adapter.schema).c_str());
    library.impl(stock.c_str(), Boxed(std::make_unique<RunStock>(fresh.get())));
  }
  state = std::move(fresh);
}

AdapterState StateOf(const std::string& op) {
  const State* state = Find(op);
  if (!state) return AdapterState::kUnbound;
  if (state->kernel) return AdapterState::kKernel;
  return state->stock ? AdapterState::kStock : AdapterState::kUnbound;
}

void BindStock(const Adapter& adapter) {
  State& state = Declared(adapter);
  const std::lock_guard<std::mutex> lock(state.binding);
  if (!state.stock && !adapter.stock.empty()) state.stock = CompileStock(adapter);
}

void BindKernel(const Adapter& adapter, const torchscript::CompiledSource& forward) {
  CheckSignature(adapter, forward);
  CheckPure(adapter, forward);
  BindStock(adapter);
  State& state = Declared(adapter);
  const std::lock_guard<std::mutex> lock(state.binding);
  if (!state.kernel) state.kernel = Compile(forward, adapter.op);
}

}  // namespace kernelmap
