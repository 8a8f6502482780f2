#include "rewriter/torchscript/import.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include <deque>
#include <map>

namespace kernelmap::torchscript {
namespace {

namespace prim = c10::prim;
using expr::Constant;
using expr::Kind;

Kind KindOf(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
      return Kind::kTensor;
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return Kind::kInt;
    case c10::TypeKind::FloatType:
      return Kind::kFloat;
    case c10::TypeKind::BoolType:
      return Kind::kBool;
    case c10::TypeKind::NoneType:
      return Kind::kNone;
    case c10::TypeKind::StringType:
      return Kind::kString;
    case c10::TypeKind::DeviceObjType:
      return Kind::kDevice;
    case c10::TypeKind::ListType:
      return Kind::kList;
    case c10::TypeKind::TupleType:
      return Kind::kTuple;
    case c10::TypeKind::ClassType:
      return Kind::kObject;
    default:
      return Kind::kOther;  // optional, number, dictionaries: what they hold is not known here
  }
}

std::string LastPath(std::string_view file) {
  const auto slash = file.find_last_of("/\\");
  return std::string(slash == std::string_view::npos ? file : file.substr(slash + 1));
}

// "modeling_llama.py:71" from a range; the base name alone, so that no machine's paths get out.
std::string SourceOf(const torch::jit::Node& node) {
  // In an archive that is the line of the generated code; what that was made from is beside it.
  const auto original = node.sourceRange().findSourceRangeThatGenerated();
  const auto place = (original ? *original : node.sourceRange()).file_line_col();
  if (!place) return "";
  const auto& [file, line, column] = *place;
  (void)column;
  if (file.empty() || file.find('<') != std::string::npos || file.starts_with("code/")) return "";
  return LastPath(file) + ":" + std::to_string(line);
}

class Importer {
 public:
  explicit Importer(Imported& imported) : out_(imported) {}

  Constant Value(const c10::IValue& value) {
    Constant c;
    c.kind = Kind::kOther;
    if (value.isNone()) {
      c.kind = Kind::kNone;
    } else if (value.isInt()) {
      c.kind = Kind::kInt;
      c.integer = value.toInt();
    } else if (value.isDouble()) {
      c.kind = Kind::kFloat;
      c.real = value.toDouble();
    } else if (value.isBool()) {
      c.kind = Kind::kBool;
      c.integer = value.toBool();
    } else if (value.isString()) {
      c.kind = Kind::kString;
      c.text = value.toStringRef();
    } else if (value.isDevice()) {
      c.kind = Kind::kDevice;
      c.text = value.toDevice().str();
    } else if (value.isTensor()) {
      return TensorValue(value.toTensor());
    } else if (value.isModule()) {
      c.kind = Kind::kObject;
      c.integer = Object(value.toObject());
    } else if (value.isList() || value.isTuple()) {
      c.kind = value.isList() ? Kind::kList : Kind::kTuple;
      if (value.isList()) {
        for (const c10::IValue& item : value.toListRef()) c.items.push_back(Value(item));
      } else {
        for (const c10::IValue& item : value.toTupleRef().elements()) {
          c.items.push_back(Value(item));
        }
      }
    }
    return c;
  }

  int Object(const c10::intrusive_ptr<c10::ivalue::Object>& object) {
    const auto [it, fresh] =
        objects_.emplace(object.get(), static_cast<int>(out_.program.objects.size()));
    if (!fresh) return it->second;
    const int index = it->second;
    out_.program.objects.emplace_back();
    out_.objects.push_back(object);
    const c10::ClassTypePtr type = object->type();
    expr::Object o;
    o.class_name = ClassName(*type);
    o.type = types_.emplace(type.get(), static_cast<int>(types_.size())).first->second;
    for (std::size_t i = 0; i < type->numAttributes(); ++i) {
      o.attributes.emplace_back(type->getAttributeName(i), Value(object->getSlot(i)));
    }
    for (std::size_t i = 0; i < type->numConstants(); ++i) {
      o.attributes.emplace_back(type->getConstantName(i), Value(type->getConstant(i)));
    }
    for (torch::jit::Function* method : type->methods()) {
      o.methods[method->name()] = Function(*method);
    }
    out_.program.objects[index] = std::move(o);
    return index;
  }

  int Function(torch::jit::Function& function) {
    const auto [it, fresh] =
        out_.functions.emplace(&function, static_cast<int>(out_.program.graphs.size()));
    if (!fresh) return it->second;
    const int index = it->second;
    torch::jit::Graph& graph = *torch::jit::toGraphFunction(function).graph();
    out_.program.graphs.emplace_back().name = function.name();
    out_.graphs.emplace_back().graph = &graph;
    std::unordered_map<const torch::jit::Value*, int> numbers;
    expr::Block body;
    Block(*graph.block(), index, numbers, body);
    out_.program.graphs[index].body = std::move(body);
    Pair(*graph.block(), out_.program.graphs[index].body);
    return index;
  }

 private:
  Constant TensorValue(const at::Tensor& tensor) {
    Constant c;
    if (!tensor.defined()) return c;
    c.kind = Kind::kTensor;
    c.dtype = static_cast<expr::DType>(tensor.scalar_type());
    if (tensor.layout() == c10::kStrided && !tensor.is_quantized()) {
      c.shape = tensor.sizes().vec();
    } else {
      c.kind = Kind::kOther;
      return c;
    }
    c.identity = reinterpret_cast<std::uintptr_t>(tensor.unsafeGetTensorImpl());
    if (tensor.has_storage()) {
      c.storage = reinterpret_cast<std::uintptr_t>(tensor.storage().unsafeGetStorageImpl());
    }
    if (tensor.dim() == 0 && tensor.device().is_cpu() && !tensor.is_complex()) {
      c.has_item =
          expr::IsFloating(c.dtype) || expr::IsIntegral(c.dtype) || c.dtype == expr::kBoolDType;
      if (expr::IsFloating(c.dtype)) {
        c.real = tensor.item<double>();
      } else if (c.has_item) {
        c.integer = tensor.item<std::int64_t>();
      }
    }
    return c;
  }

  int Number(const torch::jit::Value* value, int graph,
             std::unordered_map<const torch::jit::Value*, int>& numbers) {
    const auto [it, fresh] = numbers.emplace(value, static_cast<int>(numbers.size()));
    if (fresh) {
      out_.program.graphs[graph].kinds.push_back(KindOf(value->type()));
      out_.graphs[graph].values.push_back(const_cast<torch::jit::Value*>(value));
    }
    return it->second;
  }

  void Block(torch::jit::Block& block, int graph,
             std::unordered_map<const torch::jit::Value*, int>& numbers, expr::Block& out) {
    for (const auto* v : block.inputs()) out.inputs.push_back(Number(v, graph, numbers));
    for (torch::jit::Node* node : block.nodes()) {
      expr::Node n;
      n.op = node->kind().toQualString();
      for (const auto* v : node->inputs()) n.inputs.push_back(Number(v, graph, numbers));
      for (const auto* v : node->outputs()) n.outputs.push_back(Number(v, graph, numbers));
      Describe(*node, n);
      for (torch::jit::Block* inner : node->blocks()) {
        Block(*inner, graph, numbers, n.blocks.emplace_back());
      }
      out.nodes.push_back(std::move(n));
    }
    for (const auto* v : block.outputs()) out.outputs.push_back(Number(v, graph, numbers));
  }

  void Describe(torch::jit::Node& node, expr::Node& n) {
    n.source = SourceOf(node);
    if (node.hasAttribute(c10::attr::name) &&
        node.kindOf(c10::attr::name) == torch::jit::AttributeKind::s) {
      n.name = node.s(c10::attr::name);
    }
    if (node.kind() == prim::Constant) {
      n.known_schema = true;
      if (const auto value = torch::jit::toIValue(node.output())) {
        n.constant = static_cast<int>(out_.program.constants.size());
        out_.program.constants.push_back(Value(*value));
      }
      return;
    }
    if (node.kind() == prim::CallFunction) {
      const auto type = node.input(0)->type()->cast<c10::FunctionType>();
      if (type && type->function()->isGraphFunction()) n.callee = Function(*type->function());
      return;
    }
    if (node.kind() == prim::CallMethod) {
      // Of an interface the class is not known here.
      const auto type = node.input(0)->type()->cast<c10::ClassType>();
      torch::jit::Function* method = type ? type->findMethod(n.name) : nullptr;
      if (method && method->isGraphFunction()) n.callee = Function(*method);
      return;
    }
    const c10::FunctionSchema* schema = node.maybeSchema();
    n.known_schema = schema != nullptr;
    n.has_effects = node.kind() != prim::RaiseException && node.hasSideEffects();
    n.random = schema != nullptr && node.isNondeterministic();
    if (schema) DescribeMemory(*schema, n);
  }

  static void DescribeMemory(const c10::FunctionSchema& schema, expr::Node& n) {
    const auto& arguments = schema.arguments();
    const auto& returns = schema.returns();
    for (std::size_t i = 0; i < arguments.size() && i < 64; ++i) {
      const auto* info = arguments[i].alias_info();
      if (info && info->isWrite()) n.writes |= std::uint64_t{1} << i;
    }
    n.aliases.assign(n.outputs.size(), 0);
    for (std::size_t j = 0; j < n.outputs.size(); ++j) {
      const auto* out = j < returns.size() ? returns[j].alias_info() : nullptr;
      if (!out) continue;
      for (std::size_t i = 0; i < arguments.size() && i < 64; ++i) {
        const auto* in = arguments[i].alias_info();
        if (!in) continue;
        bool shared = out->isWildcardBefore() || in->isWildcardBefore() || out->isWildcardAfter() ||
                      in->isWildcardAfter();
        for (const auto& set : out->beforeSets()) shared |= in->beforeSets().contains(set);
        for (const auto& contained : in->containedTypes()) {
          for (const auto& set : out->beforeSets()) shared |= contained.beforeSets().contains(set);
        }
        for (const auto& contained : out->containedTypes()) {
          for (const auto& set : in->beforeSets()) shared |= contained.beforeSets().contains(set);
        }
        if (shared) n.aliases[j] |= std::uint64_t{1} << i;
      }
    }
  }

  void Pair(torch::jit::Block& block, const expr::Block& out) {
    std::size_t i = 0;
    for (torch::jit::Node* node : block.nodes()) {
      const expr::Node& n = out.nodes[i++];
      out_.nodes[&n] = node;
      for (std::size_t b = 0; b < n.blocks.size(); ++b) Pair(*node->blocks()[b], n.blocks[b]);
    }
  }

  Imported& out_;
  std::unordered_map<const void*, int> objects_;
  std::unordered_map<const void*, int> types_;
};

void ListModules(const expr::Program& program, int object, const std::string& path,
                 std::vector<bool>& seen, std::vector<expr::ModulePath>& out) {
  if (seen[object]) return;
  seen[object] = true;
  out.push_back({path, object});
  for (const auto& [name, value] : program.objects[object].attributes) {
    if (value.kind != Kind::kObject) continue;
    ListModules(program, static_cast<int>(value.integer), path.empty() ? name : path + "." + name,
                seen, out);
  }
}

}  // namespace

std::string ClassName(const c10::ClassType& type) {
  if (!type.name()) return "";
  std::string name = type.name()->name();
  const auto mangle = name.find("___torch_mangle_");
  if (mangle != std::string::npos && mangle > 0) name.resize(mangle);
  return name;
}

Imported ImportModule(const torch::jit::Module& module) {
  Imported imported;
  Importer importer(imported);
  imported.program.root = importer.Object(module._ivalue());
  std::vector<bool> seen(imported.program.objects.size(), false);
  ListModules(imported.program, imported.program.root, "", seen, imported.program.modules);
  return imported;
}

int ImportFunction(torch::jit::Function& function, Imported& imported) {
  return Importer(imported).Function(function);
}

}  // namespace kernelmap::torchscript
