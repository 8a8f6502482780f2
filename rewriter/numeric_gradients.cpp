#include "rewriter/numeric_gradients.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/autograd/autograd.h>

#include <set>

namespace kernelmap {
namespace {

constexpr uint64_t kSeed = 20240301;

void SetIn(const c10::IValue& value, bool training, std::set<const void*>* seen) {
  if (!value.isObject() || !seen->insert(value.toObject().get()).second) return;
  c10::ivalue::Object& object = *value.toObject();
  const auto slot = object.type()->findAttributeSlot("training");
  if (slot && object.getSlot(*slot).isBool()) object.setSlot(*slot, training);
  for (const c10::IValue& inner : object.slots()) SetIn(inner, training, seen);
}

}  // namespace

void SetTraining(const ModuleObject& object, bool training) {
  std::set<const void*> seen;
  SetIn(object, training, &seen);
}

void PrepareForGradients(const ModuleObject& object) {
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(kSeed);
  const at::NoGradGuard no_grad;
  for (at::Tensor& t : TensorsOf(object)) {
    if (!t.is_floating_point()) continue;
    const at::Tensor noise = at::randn(t.sizes(), generator, at::TensorOptions().dtype(at::kFloat));
    t.add_(noise.mul_(0.1).to(t.scalar_type()));
    t.set_requires_grad(true);
  }
}

Tensors Differentiated(const Tensors& inputs, const ModuleObject& object) {
  Tensors of;
  for (const at::Tensor& t : inputs) of.push_back(t);
  for (const at::Tensor& t : TensorsOf(object)) {
    if (t.requires_grad()) of.push_back(t);
  }
  return of;
}

Tensors GradientsOf(const at::Tensor& result, const Tensors& of) {
  Tensors gradients(of.size());
  if (result.requires_grad()) {
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(kSeed);
    const at::Tensor weights =
        at::randn(result.sizes(), generator, at::TensorOptions().dtype(at::kFloat));
    gradients = torch::autograd::grad({result}, of, {weights.to(result.scalar_type())},
                                      /*retain_graph=*/true, /*create_graph=*/false,
                                      /*allow_unused=*/true);
  }
  for (size_t i = 0; i < of.size(); ++i) {
    if (!gradients[i].defined()) gradients[i] = at::zeros_like(of[i]);
  }
  return gradients;
}

}  // namespace kernelmap
