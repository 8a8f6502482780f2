#include "compiler/binding.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "compiler/bind.h"
#include "compiler/document.h"
#include "compiler/embedded.h"

namespace kernelmap {
namespace {

PythonOnly BindPythonOnly(const Node& table, Diagnostics* diagnostics) {
  PythonOnly only;
  for (const Member& member : table.members) {
    if (member.key == "names") {
      only.names = BindTexts(member, diagnostics);
    } else if (member.key == "why") {
      only.why = BindText(member, diagnostics).value_or("");
    } else {
      ReportUnknownKey(member, "`python_only`", {"names", "why"}, diagnostics);
    }
  }
  if (!table.Find("why")) {
    diagnostics->Report<Diag::MissingKey>(table.span, "why", "`python_only`");
  }
  return only;
}

std::vector<PythonOnly> BindPythonOnlyList(const Member& member, Diagnostics* diagnostics) {
  std::vector<PythonOnly> list;
  if (!IsKind(member.value, Node::Kind::kArray, member.key, "a list of tables", diagnostics)) {
    return list;
  }
  for (const Node& item : member.value.items) {
    if (IsKind(item, Node::Kind::kTable, member.key, "a list of tables", diagnostics)) {
      list.push_back(BindPythonOnly(item, diagnostics));
    }
  }
  return list;
}

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

std::optional<Binding> ReadBinding(Diagnostics* diagnostics) {
  const std::optional<Node> root = ReadDocument(Syntax::kToml, diagnostics);
  if (!root) return std::nullopt;
  Binding binding;
  for (const Member& member : root->members) {
    if (member.key == "repo") {
      binding.repo = BindText(member, diagnostics).value_or("");
    } else if (member.key == "python_only") {
      binding.python_only = BindPythonOnlyList(member, diagnostics);
    } else {
      ReportUnknownKey(member, "a binding", {"repo", "python_only"}, diagnostics);
    }
  }
  if (!root->Find("repo")) diagnostics->Report<Diag::MissingKey>(root->span, "repo", "a binding");
  if (diagnostics->errors() > 0) return std::nullopt;
  return binding;
}

const Binding* FindBinding(std::string_view repo) {
  static const std::vector<Binding> bindings = ReadEmbedded();
  for (const Binding& binding : bindings) {
    if (binding.repo == repo) return &binding;
  }
  return nullptr;
}

}  // namespace kernelmap
