#include "rewriter/torchscript/clone.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include <unordered_map>
#include <vector>

namespace kernelmap::torchscript {
namespace {

using c10::ClassTypePtr;
using c10::TypePtr;
using torch::jit::CompilationUnit;
using torch::jit::Function;
using Object = c10::ivalue::Object;
using ObjectPtr = c10::intrusive_ptr<Object>;

class Cloner {
 public:
  ObjectPtr Clone(const ObjectPtr& root) {
    Collect(root);
    for (const ObjectPtr& object : objects_) AddClass(object);
    // Functions that are called turn up as code is copied.
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      Functions(*torch::jit::toGraphFunction(*functions_[i]).graph()->block(), units_[i]);
    }
    // Now everything has its counterpart, so types can be said anew.
    const auto map = [this](const TypePtr& type) { return Map(type); };
    for (Function* old : functions_) {
      Function* made = copies_.at(old);
      torch::jit::toGraphFunction(*made).graph()->remapTypes(map);
      made->setSchema(old->getSchema().cloneWithRemappedTypes(map));
    }
    for (const ClassTypePtr& old : classes_) Fill(*old, *made_.at(old.get()));
    for (const ObjectPtr& old : objects_) Make(*old);
    for (const ObjectPtr& old : objects_) SetSlots(*old);
    return clones_.at(root.get());
  }

 private:
  void Collect(const ObjectPtr& object) {
    if (!seen_.emplace(object.get(), true).second) return;
    objects_.push_back(object);
    for (const c10::IValue& value : object->slots()) {
      if (value.isModule()) Collect(value.toObject());
    }
  }

  void AddClass(const ObjectPtr& object) {
    const ClassTypePtr type = object->type();
    if (made_.contains(type.get())) return;
    const auto unit = object->compilation_unit();
    // Mangling counts from 0 again in a unit that was loaded, where such names may be taken.
    c10::QualifiedName name = unit->mangle(*type->name());
    while (unit->get_type(name)) name = unit->mangle(name);
    const ClassTypePtr made =
        c10::ClassType::create(name, unit, /*is_module=*/true, type->doc_string());
    unit->register_type(made);
    made_[type.get()] = made;
    classes_.push_back(type);
    const auto own = [&](Function* function) {
      Copy(*function, c10::QualifiedName(name, function->name()), *unit);
    };
    for (Function* method : type->methods()) own(method);
    for (Function* hook : type->getForwardPreHooks()) own(hook);
    for (Function* hook : type->getForwardHooks()) own(hook);
  }

  void Copy(Function& function, const c10::QualifiedName& name, CompilationUnit& unit) {
    if (copies_.contains(&function)) return;
    auto graph = torch::jit::toGraphFunction(function).graph()->copy();
    copies_[&function] = unit.create_function(name, std::move(graph));
    functions_.push_back(&function);
    units_.push_back(&unit);
  }

  void Functions(torch::jit::Block& block, CompilationUnit* unit) {
    for (torch::jit::Node* node : block.nodes()) {
      for (torch::jit::Value* output : node->outputs()) {
        const auto type = output->type()->cast<c10::FunctionType>();
        if (!type || !type->function()->isGraphFunction()) continue;
        Copy(*type->function(), unit->mangle(type->function()->qualname()), *unit);
      }
      if (node->hasAttribute(c10::attr::Subgraph)) {
        Functions(*node->g(c10::attr::Subgraph)->block(), unit);
      }
      for (torch::jit::Block* inner : node->blocks()) Functions(*inner, unit);
    }
  }

  TypePtr Map(const TypePtr& type) {
    if (const auto known = made_.find(type.get()); known != made_.end()) return known->second;
    if (const auto function = type->cast<c10::FunctionType>()) {
      const auto copy = copies_.find(function->function());
      return copy == copies_.end() ? type : c10::FunctionType::create(copy->second);
    }
    // What a class, an interface or a named tuple is made of is its own.
    const auto tuple = type->cast<c10::TupleType>();
    const bool named = type->kind() == c10::TypeKind::ClassType ||
                       type->kind() == c10::TypeKind::InterfaceType || (tuple && tuple->name());
    if (named || type->containedTypes().empty()) return type;
    std::vector<TypePtr> contained;
    bool changed = false;
    for (const TypePtr& inner : type->containedTypes()) {
      contained.push_back(Map(inner));
      changed = changed || contained.back() != inner;
    }
    return changed ? type->withContained(std::move(contained)) : type;
  }

  void Fill(const c10::ClassType& old, c10::ClassType& made) {
    for (std::size_t i = 0; i < old.numAttributes(); ++i) {
      const TypePtr& type = old.getAttribute(i);
      const TypePtr mapped = Map(type);
      TORCH_CHECK(mapped == type || mapped->kind() == c10::TypeKind::ClassType, "`",
                  old.getAttributeName(i), "` holds modules inside ", type->repr_str());
      made.addAttribute(old.getAttributeName(i), mapped, old.is_parameter(i), old.is_buffer(i));
    }
    for (std::size_t i = 0; i < old.numConstants(); ++i) {
      made.addConstant(old.getConstantName(i), old.getConstant(i));
    }
    for (Function* method : old.methods()) made.addMethod(copies_.at(method));
    for (Function* hook : old.getForwardPreHooks()) made.addForwardPreHook(copies_.at(hook));
    for (Function* hook : old.getForwardHooks()) made.addForwardHook(copies_.at(hook));
    for (const auto& property : old.properties()) {
      made.addProperty(property.name, property.getter ? copies_.at(property.getter) : nullptr,
                       property.setter ? copies_.at(property.setter) : nullptr);
    }
  }

  void Make(Object& old) {
    const ClassTypePtr& type = made_.at(old.type().get());
    clones_[&old] =
        Object::create(c10::StrongTypePtr(old.compilation_unit(), type), type->numAttributes());
  }

  void SetSlots(Object& old) {
    Object& clone = *clones_.at(&old);
    for (std::size_t i = 0; i < old.slots().size(); ++i) {
      const c10::IValue& value = old.getSlot(i);
      clone.setSlot(i, value.isModule() ? c10::IValue(clones_.at(value.toObject().get())) : value);
    }
  }

  std::unordered_map<const Object*, bool> seen_;
  std::vector<ObjectPtr> objects_;
  std::unordered_map<const c10::Type*, ClassTypePtr> made_;
  std::vector<ClassTypePtr> classes_;
  std::vector<Function*> functions_;     // to copy, in order
  std::vector<CompilationUnit*> units_;  // of each
  std::unordered_map<Function*, Function*> copies_;
  std::unordered_map<const Object*, ObjectPtr> clones_;
};

}  // namespace

torch::jit::Module CloneModule(const torch::jit::Module& root) {
  return torch::jit::Module(Cloner().Clone(root._ivalue()));
}

}  // namespace kernelmap::torchscript
