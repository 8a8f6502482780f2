#include "rewriter/torchscript/split.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <map>
#include <set>

namespace kernelmap::torchscript {
namespace {

namespace prim = c10::prim;
using c10::ClassTypePtr;
using Object = c10::ivalue::Object;
using ObjectPtr = c10::intrusive_ptr<Object>;

class Splitter {
 public:
  explicit Splitter(const std::vector<ObjectPtr>& chosen) {
    for (const ObjectPtr& object : chosen) wanted_.insert(object.get());
  }

  ObjectPtr Split(const ObjectPtr& old) {
    const auto known = made_.find(old.get());
    if (known != made_.end()) return known->second;
    std::map<std::string, ObjectPtr> children;
    const ClassTypePtr type = old->type();
    for (std::size_t i = 0; i < type->numAttributes(); ++i) {
      const c10::IValue& value = old->getSlot(i);
      if (!value.isModule()) continue;
      const ObjectPtr child = value.toObject();
      const ObjectPtr made = Split(child);
      if (made != child) children[type->getAttributeName(i)] = made;
    }
    const bool needed = wanted_.contains(old.get()) || !children.empty();
    return made_[old.get()] = needed ? Make(*old, children) : old;
  }

 private:
  static ObjectPtr Make(Object& old, const std::map<std::string, ObjectPtr>& children) {
    const ClassTypePtr type = old.type();
    const auto unit = old.compilation_unit();
    TORCH_CHECK(type->getForwardHooks().empty() && type->getForwardPreHooks().empty(),
                "a class with hooks cannot be split: ", type->repr_str());
    // Mangling counts from 0 again in a unit that was loaded, where such names may be taken.
    c10::QualifiedName name = unit->mangle(*type->name());
    while (unit->get_type(name)) name = unit->mangle(*type->name());
    const ClassTypePtr made =
        c10::ClassType::create(name, unit, /*is_module=*/true, type->doc_string());
    unit->register_type(made);
    for (std::size_t i = 0; i < type->numAttributes(); ++i) {
      const std::string& attribute_name = type->getAttributeName(i);
      c10::TypePtr attribute = type->getAttribute(i);
      const auto child = children.find(attribute_name);
      if (child != children.end() && attribute->kind() == c10::TypeKind::ClassType) {
        attribute = child->second->type();
      }
      made->addAttribute(attribute_name, attribute, type->is_parameter(i), type->is_buffer(i));
    }
    for (std::size_t i = 0; i < type->numConstants(); ++i) {
      made->addConstant(type->getConstantName(i), type->getConstant(i));
    }
    const ObjectPtr object = Object::create(c10::StrongTypePtr(unit, made), made->numAttributes());
    for (std::size_t i = 0; i < type->numAttributes(); ++i) {
      const auto child = children.find(type->getAttributeName(i));
      object->setSlot(i, child == children.end() ? old.getSlot(i) : c10::IValue(child->second));
    }
    // Methods may call one another: all must be there before code is given its types.
    std::vector<std::pair<torch::jit::Function*, torch::jit::Function*>> methods;
    for (torch::jit::Function* method : type->methods()) {
      methods.emplace_back(method, Copy(*method, type, made, *unit));
      made->addMethod(methods.back().second);
    }
    for (const auto& property : type->properties()) {
      made->addProperty(property.name,
                        property.getter ? made->findMethod(property.getter->name()) : nullptr,
                        property.setter ? made->findMethod(property.setter->name()) : nullptr);
    }
    return object;
  }

  static torch::jit::Function* Copy(torch::jit::Function& method, const ClassTypePtr& type,
                                    const ClassTypePtr& made, torch::jit::CompilationUnit& unit) {
    auto graph = torch::jit::toGraphFunction(method).graph()->copy();
    graph->inputs().at(0)->setType(made);
    Retype(*graph->block());
    const auto remap = [&](const c10::TypePtr& t) -> c10::TypePtr {
      return t == type ? c10::TypePtr(made) : t;
    };
    c10::FunctionSchema schema = method.getSchema().cloneWithRemappedTypes(remap);
    torch::jit::Function* copy =
        unit.create_function(c10::QualifiedName(*made->name(), method.name()), std::move(graph));
    copy->setSchema(std::move(schema));
    return copy;
  }

  static void Retype(torch::jit::Block& block) {
    for (torch::jit::Node* node : block.nodes()) {
      if (node->kind() == prim::GetAttr) {
        if (const auto type = node->input(0)->type()->cast<c10::ClassType>()) {
          node->output()->setType(type->getAttribute(node->s(c10::attr::name)));
        }
      }
      if (node->hasAttribute(c10::attr::Subgraph)) {
        torch::jit::Graph& inner = *node->g(c10::attr::Subgraph);
        for (std::size_t i = 0; i < node->inputs().size(); ++i) {
          inner.inputs()[i]->setType(node->input(i)->type());
        }
        Retype(*inner.block());
      }
      // A class that goes through a tuple, a list or a branch would keep its old type.
      const bool passes_class =
          node->kind() != prim::GetAttr && node->kind() != prim::CallMethod &&
          std::any_of(node->outputs().begin(), node->outputs().end(), [](torch::jit::Value* v) {
            const auto type = v->type()->cast<c10::ClassType>();
            return type && type->is_module();
          });
      TORCH_CHECK(!passes_class, "a module is handed on as a value");
      for (torch::jit::Block* inner : node->blocks()) Retype(*inner);
    }
  }

  std::set<const Object*> wanted_;
  std::map<const Object*, ObjectPtr> made_;
};

}  // namespace

torch::jit::Module SplitClasses(const torch::jit::Module& root,
                                const std::vector<ObjectPtr>& chosen) {
  return torch::jit::Module(Splitter(chosen).Split(root._ivalue()));
}

}  // namespace kernelmap::torchscript
