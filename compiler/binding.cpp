#include "compiler/binding.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>

#include "compiler/bind.h"
#include "compiler/document.h"
#include "compiler/embedded.h"

namespace kernelmap {
namespace {

// How one key of a table is taken.
struct Key {
  std::string name;
  std::function<void(const Member&)> take;
  bool needed = false;
};

// Takes the keys of a table; `where` is how messages call it.
void BindTable(const Node& table, std::string_view where, const std::vector<Key>& keys,
               Diagnostics* diagnostics) {
  std::vector<std::string> names;
  for (const Key& key : keys) {
    names.push_back(key.name);
    if (key.needed && !table.Find(key.name)) {
      diagnostics->Report<Diag::MissingKey>(table.span, key.name, where);
    }
  }
  for (const Member& member : table.members) {
    const auto key = std::find(names.begin(), names.end(), member.key);
    if (key == names.end()) {
      ReportUnknownKey(member, where, names, diagnostics);
    } else {
      keys[static_cast<size_t>(key - names.begin())].take(member);
    }
  }
}

void BindTables(const Member& member, Diagnostics* diagnostics,
                const std::function<void(const Node&)>& take) {
  if (!IsKind(member.value, Node::Kind::kArray, member.key, "a list of tables", diagnostics)) {
    return;
  }
  for (const Node& item : member.value.items) {
    if (IsKind(item, Node::Kind::kTable, member.key, "a list of tables", diagnostics)) take(item);
  }
}

// A table from names to numbers.
template <typename Number>
std::map<std::string, Number> BindNumbers(const Member& member, Node::Kind kind,
                                          std::string_view wanted, Diagnostics* diagnostics) {
  std::map<std::string, Number> numbers;
  if (!IsKind(member.value, Node::Kind::kTable, member.key, "a table", diagnostics)) return numbers;
  for (const Member& item : member.value.members) {
    if (!IsKind(item.value, kind, item.key, wanted, diagnostics)) continue;
    numbers[item.key] = kind == Node::Kind::kFloat ? static_cast<Number>(item.value.number)
                                                   : static_cast<Number>(item.value.integer);
  }
  return numbers;
}

class Binder {
 public:
  explicit Binder(Diagnostics* diagnostics) : diagnostics_(diagnostics) {}

  Binding Bind(const Node& root) {
    Binding binding;
    BindTable(root, "a binding",
              {Text("repo", &binding.repo, true),
               Texts("ops", &binding.ops),
               {"python_only",
                [&](const Member& member) {
                  BindTables(member, diagnostics_, [&](const Node& table) {
                    binding.python_only.push_back(BindPythonOnly(table));
                  });
                }},
               {"kernel",
                [&](const Member& member) {
                  BindTables(member, diagnostics_, [&](const Node& table) {
                    binding.kernels.push_back(BindKernel(table));
                  });
                }}},
              diagnostics_);
    return binding;
  }

 private:
  Key Text(std::string name, std::string* text, bool needed = false) {
    return {
        std::move(name),
        [this, text](const Member& member) { *text = BindText(member, diagnostics_).value_or(""); },
        needed};
  }
  Key Texts(std::string name, std::vector<std::string>* texts, bool needed = false) {
    return {std::move(name),
            [this, texts](const Member& member) { *texts = BindTexts(member, diagnostics_); },
            needed};
  }
  template <typename Bool>
  Key Flag(std::string name, Bool* flag) {
    return {std::move(name), [this, flag](const Member& member) {
              if (const auto value = BindBool(member, diagnostics_)) *flag = *value;
            }};
  }

  PythonOnly BindPythonOnly(const Node& table) {
    PythonOnly only;
    BindTable(table, "`python_only`", {Texts("names", &only.names), Text("why", &only.why, true)},
              diagnostics_);
    return only;
  }

  BoundKernel BindKernel(const Node& table) {
    BoundKernel bound;
    Kernel& kernel = bound.kernel;
    kernel.deterministic = false;
    BindTable(table, "`kernel`",
              {Text("name", &kernel.name, true),
               Text("summary", &kernel.summary),
               Texts("devices", &kernel.devices),
               Texts("dtypes", &kernel.dtypes),
               Flag("backward", &bound.backward),
               Flag("torch_compile", &bound.torch_compile),
               Flag("deterministic", &kernel.deterministic),
               Flag("untested", &bound.untested),
               {"tolerance",
                [&](const Member& member) {
                  kernel.tolerance = BindNumbers<double>(member, Node::Kind::kFloat,
                                                         "a number with a fraction", diagnostics_);
                }},
               {"implements",
                [&](const Member& member) {
                  BindTables(member, diagnostics_, [&](const Node& item) {
                    kernel.implementations.push_back(BindImplementation(item));
                  });
                }}},
              diagnostics_);
    return bound;
  }

  Implementation BindImplementation(const Node& table) {
    Implementation implementation;
    implementation.contiguous_output = false;
    const bool fuses = table.Find("members") != nullptr;
    BindTable(table, "`implements`",
              {Text("layer", &implementation.layer, !fuses),
               Texts("references", &implementation.references, !fuses),
               Text("source", &implementation.source, true),
               Text("stock", &implementation.stock),
               Flag("same_input", &implementation.same_input),
               {"members",
                [&](const Member& member) {
                  BindTables(member, diagnostics_, [&](const Node& item) {
                    implementation.members.push_back(BindFused(item));
                  });
                }},
               {"layout",
                [&](const Member& member) {
                  BindStrings(member, [&](const std::string& name, const Node& text) {
                    if (auto layout = ParseLayout(SubText::OfString(text), diagnostics_)) {
                      implementation.layout[name] = std::move(*layout);
                    }
                  });
                }},
               {"sizes",
                [&](const Member& member) {
                  BindStrings(member, [&](const std::string& name, const Node& text) {
                    implementation.sizes[name] = text.text;
                  });
                }},
               Texts("same_dtype", &implementation.same_dtype),
               Flag("contiguous_output", &implementation.contiguous_output),
               {"rank",
                [&](const Member& member) {
                  implementation.rank = BindNumbers<int>(member, Node::Kind::kInteger,
                                                         "a whole number", diagnostics_);
                }}},
              diagnostics_);
    if (fuses) implementation.layer = JoinLayers(implementation.members);
    return implementation;
  }

  FusedMember BindFused(const Node& table) {
    FusedMember member;
    BindTable(table, "`members`",
              {Text("name", &member.name, true), Text("layer", &member.layer, true),
               Texts("references", &member.references, true)},
              diagnostics_);
    return member;
  }

  // A table from names to texts.
  void BindStrings(const Member& member,
                   const std::function<void(const std::string&, const Node&)>& take) {
    if (!IsKind(member.value, Node::Kind::kTable, member.key, "a table", diagnostics_)) return;
    for (const Member& item : member.value.members) {
      if (IsKind(item.value, Node::Kind::kString, item.key, "a string", diagnostics_)) {
        take(item.key, item.value);
      }
    }
  }

  Diagnostics* diagnostics_;
};

std::vector<Binding> ReadEmbedded() {
  std::vector<Binding> bindings;
  for (const EmbeddedFile& file : EmbeddedFiles()) {
    if (!file.name.starts_with("kernels/bindings/")) continue;
    Diagnostics diagnostics(
        std::make_shared<Source>(std::string(file.name), std::string(file.text)));
    std::optional<Binding> binding = ReadBinding(&diagnostics);
    if (!binding) {
      std::fputs(DiagnosticsToText(diagnostics.list(), false).c_str(), stderr);
      std::exit(2);
    }
    bindings.push_back(std::move(*binding));
  }
  return bindings;
}

}  // namespace

std::string Binding::WhyPythonOnly(std::string_view name) const {
  for (const PythonOnly& only : python_only) {
    const bool named = std::find(only.names.begin(), only.names.end(), name) != only.names.end();
    if (only.names.empty() || named) return only.why;
  }
  return "";
}

const BoundKernel* Binding::Find(std::string_view name) const {
  for (const BoundKernel& bound : kernels) {
    if (bound.kernel.name == name) return &bound;
  }
  return nullptr;
}

std::optional<Binding> ReadBinding(Diagnostics* diagnostics) {
  const std::optional<Node> root = ReadDocument(Syntax::kToml, diagnostics);
  if (!root) return std::nullopt;
  Binding binding = Binder(diagnostics).Bind(*root);
  if (diagnostics->errors() > 0) return std::nullopt;
  return binding;
}

const Binding* FindBinding(std::string_view repo) {
  for (const Binding& binding : EmbeddedBindings()) {
    if (binding.repo == repo) return &binding;
  }
  return nullptr;
}

const std::vector<Binding>& EmbeddedBindings() {
  static const std::vector<Binding> bindings = ReadEmbedded();
  return bindings;
}

}  // namespace kernelmap
