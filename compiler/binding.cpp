#include "compiler/binding.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>

#include "compiler/bind.h"
#include "compiler/contains.h"
#include "compiler/document.h"
#include "compiler/embedded.h"

namespace kernelmap {
namespace {

constexpr double kMaxTolerance = 0.05;
const std::vector<std::string> kDevices = {"cpu", "cuda", "rocm",   "mps",
                                           "xpu", "npu",  "neuron", "tpu"};
const std::vector<std::string> kDtypes = {"float32", "bfloat16", "float16", "float64"};

// "name(...) -> ..." with brackets that match.
bool IsSchema(std::string_view text) {
  const size_t open =
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
  if (open == 0 || open == text.npos || text[open] != '(') return false;
  std::string closing;
  size_t parameters = 0;  // where they end
  for (size_t i = open; i < text.size(); ++i) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) < 0x20) return false;
    if (c == '(' || c == '[') closing += c == '(' ? ')' : ']';
    if (c != ')' && c != ']') continue;
    if (closing.empty() || closing.back() != c) return false;
    closing.pop_back();
    if (closing.empty() && parameters == 0) parameters = i + 1;
  }
  constexpr std::string_view kReturns = " -> ";
  return closing.empty() && parameters > 0 && text.substr(parameters).starts_with(kReturns) &&
         text.size() > parameters + kReturns.size();
}

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
               {"ops", [&](const Member& member) { binding.ops = BindOps(member); }},
               {"python_only",
                [&](const Member& member) {
                  BindTables(member, diagnostics_, [&](const Node& table) {
                    binding.python_only.push_back(BindPythonOnly(table));
                  });
                }},
               {"kernel",
                [&](const Member& member) {
                  BindTables(member, diagnostics_,
                             [&](const Node& table) { AddKernel(table, &binding); });
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

  Key Words(std::string name, const std::vector<std::string>& words,
            std::vector<std::string>* texts) {
    return {std::move(name), [this, &words, texts](const Member& member) {
              if (!IsKind(member.value, Node::Kind::kArray, member.key, "a list of strings",
                          diagnostics_)) {
                return;
              }
              for (const Node& item : member.value.items) {
                auto word = BindWord(item, member.key, words, diagnostics_);
                if (word) texts->push_back(std::move(*word));
              }
            }};
  }

  // Schemas; whether their types are known shows when the library is loaded.
  std::vector<std::string> BindOps(const Member& member) {
    std::vector<std::string> ops = BindTexts(member, diagnostics_);
    for (const Node& item : member.value.items) {
      if (!item.Is(Node::Kind::kString) || IsSchema(item.text)) continue;
      diagnostics_->Report<Diag::UnknownValue>(item.span, item.text, member.key)
          .Help("a schema is like `norm(Tensor x, float eps) -> Tensor`");
    }
    return ops;
  }

  // A tolerance past the bound would let anything pass for the layer.
  std::map<std::string, double> BindTolerance(const Member& member) {
    auto numbers =
        BindNumbers<double>(member, Node::Kind::kFloat, "a number with a fraction", diagnostics_);
    for (const Member& item : member.value.members) {
      if (!Contains(kDtypes, item.key)) {
        ReportUnknownKey(item, "`tolerance`", kDtypes, diagnostics_);
      } else if (item.value.Is(Node::Kind::kFloat) &&
                 !(item.value.number >= 0 && item.value.number <= kMaxTolerance)) {
        diagnostics_->Report<Diag::WrongType>(item.value.span, item.key, "a number from 0 to 0.05",
                                              diagnostics_->source()->Slice(item.value.span));
      }
    }
    return numbers;
  }

  void AddKernel(const Node& table, Binding* binding) {
    BoundKernel bound = BindKernel(table);
    const Member* name = table.Find("name");
    if (name && !bound.kernel.name.empty() && binding->Find(bound.kernel.name)) {
      diagnostics_->Report<Diag::TwiceInReport>(name->value.span, bound.kernel.name, "a binding");
    }
    binding->kernels.push_back(std::move(bound));
  }

  BoundKernel BindKernel(const Node& table) {
    BoundKernel bound;
    Kernel& kernel = bound.kernel;
    kernel.deterministic = false;
    BindTable(
        table, "`kernel`",
        {Text("name", &kernel.name, true),
         Text("summary", &kernel.summary),
         Words("devices", kDevices, &kernel.devices),
         Words("dtypes", kDtypes, &kernel.dtypes),
         Flag("backward", &bound.backward),
         Flag("torch_compile", &bound.torch_compile),
         Flag("deterministic", &kernel.deterministic),
         Flag("untested", &bound.untested),
         {"tolerance", [&](const Member& member) { kernel.tolerance = BindTolerance(member); }},
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
