#include "rewriter/torchscript/fusion_parameters.h"

#include <torch/csrc/jit/ir/ir.h>

#include <functional>
#include <set>
#include <string>
#include <utility>

namespace kernelmap::torchscript {
namespace {

using Lookup = std::function<at::Tensor(const std::string&)>;

at::Tensor Calculate(const Layout& layout, const Lookup& parameter);

// One of the two may be a number.
at::Tensor Arithmetic(const Layout& layout, const Lookup& parameter) {
  const auto side = [&](std::size_t i, const at::Tensor& like) {
    const Layout& operand = layout.operands[i];
    if (operand.kind != Layout::Kind::kNumber) return Calculate(operand, parameter);
    return at::full_like(like, operand.number);
  };
  const bool number_first = layout.operands[0].kind == Layout::Kind::kNumber;
  const at::Tensor known = Calculate(layout.operands[number_first ? 1 : 0], parameter);
  const at::Tensor a = number_first ? side(0, known) : known;
  const at::Tensor b = number_first ? known : side(1, known);
  switch (layout.kind) {
    case Layout::Kind::kAdd:
      return a + b;
    case Layout::Kind::kSubtract:
      return a - b;
    case Layout::Kind::kMultiply:
      return a * b;
    default:
      return a / b;
  }
}

at::Tensor Calculate(const Layout& layout, const Lookup& parameter) {
  const std::vector<int64_t>& integers = layout.integers;
  switch (layout.kind) {
    case Layout::Kind::kParameter:
      return parameter(layout.path);
    case Layout::Kind::kConcat: {
      std::vector<at::Tensor> parts;
      for (const Layout& operand : layout.operands) parts.push_back(Calculate(operand, parameter));
      return at::cat(parts, integers[0]);
    }
    case Layout::Kind::kChunk:
      return Calculate(layout.operands[0], parameter)
          .chunk(integers[0], integers[1])
          .at(static_cast<std::size_t>(integers[2]))
          .contiguous();
    case Layout::Kind::kTranspose:
      return Calculate(layout.operands[0], parameter)
          .transpose(integers[0], integers[1])
          .contiguous();
    default:
      return Arithmetic(layout, parameter);
  }
}

void AddParameter(const NewParameter& made, c10::ivalue::Object& first, const Imported& imported) {
  bool wants_gradient = false, is_parameter = false;
  const at::Tensor tensor = Calculate(made.layout, [&](const std::string& path) {
    const ParameterPlace& place = made.from.at(path);
    const c10::ivalue::Object& object = *imported.objects[place.object];
    const at::Tensor stock = object.getAttr(place.attribute).toTensor();
    wants_gradient = wants_gradient || stock.requires_grad();
    is_parameter = is_parameter ||
                   object.type()->is_parameter(object.type()->getAttributeSlot(place.attribute));
    return stock;
  });
  // A tensor that only moves stays the one that others may hold.
  const bool moved = made.layout.kind == Layout::Kind::kParameter;
  first.type()->addAttribute(made.name, c10::TensorType::get(), is_parameter, !is_parameter);
  first.setAttr(made.name, moved ? tensor : tensor.detach().set_requires_grad(wants_gradient));
}

// Attributes that code reads, of any class.
class ReadAttributes {
 public:
  explicit ReadAttributes(const Imported& imported) {
    for (const ImportedGraph& graph : imported.graphs) Visit(*graph.graph->block());
  }
  bool Contains(const c10::ClassType& type, const std::string& name) const {
    return read_.contains({&type, name});
  }

 private:
  void Visit(torch::jit::Block& block) {
    for (torch::jit::Node* node : block.nodes()) {
      if (node->kind() == c10::prim::GetAttr || node->kind() == c10::prim::SetAttr) {
        const auto type = node->input(0)->type()->cast<c10::ClassType>();
        if (type) read_.insert({type.get(), node->s(c10::attr::name)});
      }
      if (node->hasAttribute(c10::attr::Subgraph)) Visit(*node->g(c10::attr::Subgraph)->block());
      for (torch::jit::Block* inner : node->blocks()) Visit(*inner);
    }
  }
  std::set<std::pair<const c10::ClassType*, std::string>> read_;
};

// Whether the module, or one in it, is one of the objects.
bool Holds(const c10::IValue& module, const std::set<const c10::ivalue::Object*>& objects) {
  const c10::ivalue::Object* object = module.toObject().get();
  if (objects.contains(object)) return true;
  for (const c10::IValue& slot : object->slots()) {
    if (slot.isModule() && Holds(slot, objects)) return true;
  }
  return false;
}

void RemoveAttribute(c10::ivalue::Object& object, const std::string& name) {
  object.unsafeRemoveAttr(name);
  object.type()->unsafeRemoveAttribute(name);
}

}  // namespace

void AddParameters(const std::vector<FusionEdit>& fusions, Imported& imported) {
  const at::NoGradGuard no_grad;
  for (const FusionEdit& fusion : fusions) {
    c10::ivalue::Object& first = *imported.objects[fusion.members[0]];
    for (const NewParameter& made : fusion.parameters) {
      if (!first.type()->hasAttribute(made.name)) AddParameter(made, first, imported);
    }
  }
}

void RemoveUnused(const std::vector<FusionEdit>& fusions, Imported& imported) {
  if (fusions.empty()) return;
  const ReadAttributes read(imported);
  for (const FusionEdit& fusion : fusions) {
    std::set<std::pair<int, std::string>> taken;
    std::set<const c10::ivalue::Object*> holders;
    for (const NewParameter& made : fusion.parameters) {
      for (const auto& [path, place] : made.from) {
        taken.insert({place.object, place.attribute});
        holders.insert(imported.objects[place.object].get());
      }
    }
    for (std::size_t i = 0; i < fusion.members.size(); ++i) {
      c10::ivalue::Object& object = *imported.objects[fusion.members[i]];
      const c10::ClassType& type = *object.type();
      std::vector<std::string> names;
      for (std::size_t slot = 0; slot < type.numAttributes(); ++slot) {
        const std::string& name = type.getAttributeName(slot);
        const c10::IValue& value = object.getSlot(slot);
        const bool submodule = value.isModule() && (i > 0 || Holds(value, holders));
        if (!submodule && !taken.contains({fusion.members[i], name})) continue;
        if (!read.Contains(type, name)) names.push_back(name);
      }
      for (const std::string& name : names) RemoveAttribute(object, name);
    }
  }
}

}  // namespace kernelmap::torchscript
