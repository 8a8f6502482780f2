#include "kernels/common/stock_backward.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

namespace kernelmap {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using torch::jit::Stack;

variable_list Tensors(const Stack& values) {
  variable_list tensors;
  for (const c10::IValue& value : values) {
    if (value.isTensor()) tensors.push_back(value.toTensor());
  }
  return tensors;
}

// Where `arguments` has a tensor, the next of `tensors`.
Stack WithTensors(const c10::List<c10::IValue>& arguments, const variable_list& tensors) {
  Stack stack;
  size_t next = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::IValue argument = arguments.get(i);
    stack.push_back(argument.isNone() ? c10::IValue(tensors.at(next++)) : argument);
  }
  return stack;
}

class Recompute : public torch::autograd::Function<Recompute> {
 public:
  // `tensors`, those of `arguments`, are there for autograd to see (as a TensorList, no vector).
  static variable_list forward(AutogradContext* context, const c10::OperatorHandle* op,
                               const Stack* arguments, at::TensorList tensors) {
    c10::List<c10::IValue> rest(c10::AnyType::get());
    for (const c10::IValue& argument : *arguments) {
      rest.push_back(argument.isTensor() ? c10::IValue() : argument);
    }
    context->saved_data["op"] = op->schema().name();
    context->saved_data["arguments"] = rest;
    context->save_for_backward(tensors.vec());
    at::AutoDispatchBelowADInplaceOrView guard;
    Stack stack = *arguments;
    op->callBoxed(stack);
    return Tensors(stack);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    // Set where the caller asks for a graph of this very backward.
    const bool again = c10::GradMode::is_enabled();
    const std::string& op = context->saved_data["op"].toStringRef();
    const variable_list saved = context->get_saved_variables();
    c10::List<bool> wanted;
    for (size_t i = 0; i < saved.size(); ++i) wanted.push_back(context->needs_input_grad(i));
    const c10::List<c10::IValue> arguments = context->saved_data["arguments"].toList();
    const auto kernel = c10::Dispatcher::singleton().findSchema({op + "_backward", ""});
    variable_list out(2);  // op and arguments
    for (const at::Tensor& gradient :
         kernel && !again ? OfKernel(*kernel, gradients, WithTensors(arguments, saved), wanted)
                          : OfStock(op + "_stock", gradients, arguments, saved, wanted, again)) {
      out.push_back(gradient);
    }
    return out;
  }

 private:
  static variable_list OfKernel(const c10::OperatorHandle& kernel, const variable_list& gradients,
                                const Stack& arguments, const c10::List<bool>& wanted) {
    Stack stack(gradients.begin(), gradients.end());
    stack.insert(stack.end(), arguments.begin(), arguments.end());
    stack.emplace_back(wanted);
    kernel.callBoxed(stack);
    return Tensors(stack);
  }

  static variable_list OfStock(const std::string& op, const variable_list& gradients,
                               const c10::List<c10::IValue>& arguments, const variable_list& saved,
                               const c10::List<bool>& wanted, bool again) {
    const at::AutoGradMode with_grad(true);
    variable_list inputs, chosen;
    for (size_t i = 0; i < saved.size(); ++i) {
      // A view is a place of its own to stop at, through which a second derivative still flows.
      inputs.push_back(again ? saved[i].view_as(saved[i]) : saved[i].detach());
      if (!wanted[i]) continue;
      if (!again) inputs.back().requires_grad_();
      chosen.push_back(inputs.back());
    }
    Stack stack = WithTensors(arguments, inputs);
    c10::Dispatcher::singleton().findSchemaOrThrow(op.c_str(), "").callBoxed(stack);
    variable_list outputs, incoming;
    const variable_list results = Tensors(stack);
    for (size_t i = 0; i < results.size(); ++i) {
      if (!gradients[i].defined() || !results[i].requires_grad()) continue;
      outputs.push_back(results[i]);
      incoming.push_back(gradients[i]);
    }
    const variable_list found = torch::autograd::grad(outputs, chosen, incoming, std::nullopt,
                                                      /*create_graph=*/again,
                                                      /*allow_unused=*/true);
    variable_list all(saved.size());
    for (size_t i = 0, next = 0; i < saved.size(); ++i) {
      if (wanted[i]) all[i] = found[next++];
    }
    return all;
  }
};

void Forward(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  const size_t count = op.schema().arguments().size();
  const auto arguments = torch::jit::last(*stack, count);
  bool wanted = false;
  for (const c10::IValue& argument : arguments) {
    wanted = wanted || (argument.isTensor() && argument.toTensor().requires_grad());
  }
  if (!wanted || !c10::GradMode::is_enabled()) {
    at::AutoDispatchBelowADInplaceOrView guard;
    op.redispatchBoxed(keys & c10::after_ADInplaceOrView_keyset, stack);
    return;
  }
  const Stack copy(arguments.begin(), arguments.end());
  torch::jit::drop(*stack, count);
  const variable_list tensors = Tensors(copy);
  for (at::Tensor& output : Recompute::apply(&op, &copy, at::TensorList(tensors))) {
    stack->emplace_back(std::move(output));
  }
}

}  // namespace

torch::CppFunction StockBackward() { return torch::CppFunction::makeFromBoxedFunction<&Forward>(); }

}  // namespace kernelmap
