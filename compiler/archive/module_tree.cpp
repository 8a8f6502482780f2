#include "compiler/archive/module_tree.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "compiler/archive/classes.h"
#include "compiler/archive/pickle.h"

namespace kernelmap {
namespace {

using Id = PickleValues::Id;

/// "float32" of "torch\nFloatStorage".
std::string DtypeOfStorage(std::string_view global) {
  static const std::map<std::string_view, std::string_view> kNames = {
      {"Float", "float32"},
      {"Double", "float64"},
      {"Half", "float16"},
      {"BFloat16", "bfloat16"},
      {"Long", "int64"},
      {"Int", "int32"},
      {"Short", "int16"},
      {"Char", "int8"},
      {"Byte", "uint8"},
      {"Bool", "bool"},
      {"ComplexFloat", "complex64"},
      {"ComplexDouble", "complex128"},
      {"ComplexHalf", "complex32"},
  };
  std::string_view name = global.substr(global.find('\n') + 1);
  if (!name.ends_with("Storage")) return "unknown";
  name.remove_suffix(7);
  if (const auto it = kNames.find(name); it != kNames.end()) return std::string(it->second);
  std::string lower(name);  // Float8_e4m3fn, UInt16, QInt8: torch's dtype in lower case
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

class TreeReader {
 public:
  TreeReader(const PickleValues& values, const ClassDeclarations& classes,
             const ModuleTreeLimits& limits)
      : values_(values), classes_(classes), limits_(limits) {}

  ArchiveResult<ModuleTree> Run() {
    if (!IsModule(values_.root())) {
      return Error(ArchiveErrorCode::kMalformed, "`data.pkl` does not hold a module");
    }
    // An explicit stack: how deep the modules nest is the file's choice, not ours.
    std::vector<Pending> stack = {{values_.root(), "", 0}};
    while (!stack.empty()) {
      Pending next = std::move(stack.back());
      stack.pop_back();
      if (next.depth > limits_.max_depth) {
        return Error(ArchiveErrorCode::kTooLarge,
                     "modules are nested over the limit of " + std::to_string(limits_.max_depth));
      }
      path_bytes_ += next.path.size();
      if (tree_.modules.size() >= limits_.max_modules || path_bytes_ > limits_.max_path_bytes) {
        return Error(ArchiveErrorCode::kTooLarge,
                     "the archive has over " + std::to_string(limits_.max_modules) + " modules");
      }
      if (!AddModule(std::move(next), &stack)) return error_;
    }
    return std::move(tree_);
  }

 private:
  struct Pending {
    Id id;
    std::string path;
    uint64_t depth;
  };

  static ArchiveError Error(ArchiveErrorCode code, std::string message) {
    return ErrorOf(code, std::move(message));
  }

  bool Fail(std::string message, ArchiveErrorCode code = ArchiveErrorCode::kMalformed) {
    error_ = Error(code, std::move(message));
    return false;
  }

  /// "package.module.Class" of an object's class.
  std::string ClassOf(Id object) const {
    std::string name(values_.Text(values_.Items(object)[0]));
    std::replace(name.begin(), name.end(), '\n', '.');
    return name;
  }

  const ClassDeclaration* Declaration(Id object) {
    const Id global = values_.Items(object)[0];
    const auto [it, added] = by_global_.try_emplace(global, nullptr);
    if (added) {
      const auto declared = classes_.find(ClassOf(object));
      if (declared != classes_.end()) it->second = &declared->second;
    }
    return it->second;
  }

  bool IsModule(Id id) {
    if (values_.kind(id) != PickleKind::kObject) return false;
    const ClassDeclaration* declared = Declaration(id);
    return declared && declared->module;
  }

  /// A tensor's shape and dtype; false when `id` is not one.
  bool ReadTensor(Id id, TensorInfo* tensor) const {
    if (values_.kind(id) != PickleKind::kCall) return false;
    const std::string_view callable = values_.Text(values_.Items(id)[0]);
    if (!callable.starts_with("torch._utils\n_rebuild_")) return false;
    const std::span<const Id> arguments = values_.Items(values_.Items(id)[1]);
    tensor->dtype = "unknown";
    // (storage, offset, size, stride, …), the storage being ("storage", class, key, device, count)
    if (arguments.size() < 3 || values_.kind(arguments[0]) != PickleKind::kPersistent) return true;
    const Id key = values_.Items(arguments[0])[0];
    if (values_.kind(key) == PickleKind::kTuple && values_.Items(key).size() > 1 &&
        values_.kind(values_.Items(key)[1]) == PickleKind::kGlobal) {
      tensor->dtype = DtypeOfStorage(values_.Text(values_.Items(key)[1]));
    }
    if (values_.kind(arguments[2]) == PickleKind::kTuple) {
      for (const Id size : values_.Items(arguments[2])) {
        if (tensor->shape.size() == 64) break;  // torch's own limit
        tensor->shape.push_back(values_.kind(size) == PickleKind::kInt ? values_.Integer(size)
                                                                       : -1);
      }
    }
    return true;
  }

  /// The tensors among the attributes in `by_name_` that the class lists under `names`.
  bool AddTensors(const std::vector<std::string>& names, std::vector<TensorInfo>* tensors) {
    for (const std::string& name : names) {
      const auto it = std::lower_bound(by_name_.begin(), by_name_.end(),
                                       std::pair(std::string_view(name), Id{0}));
      if (it == by_name_.end() || it->first != name) continue;
      TensorInfo tensor;
      if (!ReadTensor(it->second, &tensor)) continue;  // None: a bias that is not there
      if (++tensors_ > limits_.max_tensors) {
        return Fail("the archive has over " + std::to_string(limits_.max_tensors) + " tensors",
                    ArchiveErrorCode::kTooLarge);
      }
      tensor.name = name;
      tensors->push_back(std::move(tensor));
    }
    return true;
  }

  /// Fills `by_name_`. Names become parts of a path: each once, and nothing that a path could not
  /// hold.
  bool SortByName(std::span<const Id> attributes, const std::string& path) {
    // An object may be reached by many paths, so the pickle's size does not bound this.
    attributes_ += attributes.size() / 2;
    if (attributes_ > limits_.max_attributes) {
      return Fail("the archive has over " + std::to_string(limits_.max_attributes) + " attributes",
                  ArchiveErrorCode::kTooLarge);
    }
    by_name_.clear();
    for (size_t i = 0; i < attributes.size(); i += 2) {
      const Id key = attributes[i];
      if (values_.kind(key) != PickleKind::kString) {
        return Fail("module `" + path + "` has an attribute without a name");
      }
      const std::string_view name = values_.Text(key);
      const bool plain =
          !name.empty() && std::none_of(name.begin(), name.end(), [](unsigned char c) {
            return c < 0x20 || c == 0x7f || c == '.';
          });
      if (!plain) return Fail("module `" + path + "` has an attribute with an impossible name");
      by_name_.emplace_back(name, attributes[i + 1]);
    }
    std::sort(by_name_.begin(), by_name_.end());
    const auto twice =
        std::adjacent_find(by_name_.begin(), by_name_.end(),
                           [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twice != by_name_.end()) {
      return Fail("module `" + path + "` has two attributes `" + std::string(twice->first) + "`");
    }
    return true;
  }

  bool AddModule(Pending next, std::vector<Pending>* stack) {
    const ClassDeclaration& declared = *Declaration(next.id);
    ArchiveModule module;
    module.path = std::move(next.path);
    module.qualified_class = ClassOf(next.id);
    module.class_name = UnmangledName(module.qualified_class);
    const std::span<const Id> parts = values_.Items(next.id);
    const bool attributes_known =
        parts.size() == 3 && values_.kind(parts[2]) == PickleKind::kDict && !declared.set_state;
    if (!attributes_known) {
      if (!declared.set_state) return Fail("module `" + module.path + "` has no attributes");
      module.opaque = true;
      tree_.modules.push_back(std::move(module));
      return true;
    }
    const std::span<const Id> attributes = values_.Items(parts[2]);
    if (!SortByName(attributes, module.path)) return false;
    if (declared.parameters.size() + declared.buffers.size() > by_name_.size()) {
      return Fail("module `" + module.path + "` lacks tensors that its class has");
    }
    if (!AddTensors(declared.parameters, &module.parameters) ||
        !AddTensors(declared.buffers, &module.buffers)) {
      return false;
    }
    for (size_t i = attributes.size(); i > 0; i -= 2) {  // backwards: the stack turns them round
      if (!IsModule(attributes[i - 1])) continue;
      std::string path = module.path;
      if (!path.empty()) path += '.';
      path += values_.Text(attributes[i - 2]);
      stack->push_back({attributes[i - 1], std::move(path), next.depth + 1});
    }
    tree_.modules.push_back(std::move(module));
    return true;
  }

  const PickleValues& values_;
  const ClassDeclarations& classes_;
  const ModuleTreeLimits limits_;
  std::unordered_map<Id, const ClassDeclaration*> by_global_;
  std::vector<std::pair<std::string_view, Id>> by_name_;  // attributes of the module at hand
  ModuleTree tree_;
  uint64_t path_bytes_ = 0, tensors_ = 0, attributes_ = 0;
  ArchiveError error_;
};

}  // namespace

ArchiveResult<ModuleTree> ReadModuleTree(const Archive& archive, const ModuleTreeLimits& limits) {
  const ArchiveResult<ClassDeclarations> classes = ReadClasses(archive);
  if (!classes) return classes.error();
  ArchiveResult<std::string> bytes = archive.zip().Read(*archive.Find("data.pkl"));
  if (!bytes) return bytes.error();
  const ArchiveResult<PickleValues> values = PickleValues::Read(std::move(*bytes), "data.pkl");
  if (!values) return values.error();
  ArchiveResult<ModuleTree> tree = TreeReader(*values, *classes, limits).Run();
  if (!tree) return tree.error();
  for (const auto& [name, declared] : *classes) {
    if (declared.set_state) tree->set_state_classes.push_back(name);
  }
  std::sort(tree->set_state_classes.begin(), tree->set_state_classes.end());
  return tree;
}

}  // namespace kernelmap
