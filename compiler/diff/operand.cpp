// What kind of file an operand is.
#include <algorithm>
#include <memory>
#include <utility>

#include "compiler/diff/side.h"

namespace kernelmap {
namespace {

constexpr std::string_view kPlanFormat = "kernelmap-plan/", kReportFormat = "kernelmap-report/";

void Append(Diagnostics* from, std::vector<Diagnostic>* to) {
  from->Finish();
  to->insert(to->end(), from->list().begin(), from->list().end());
}

}  // namespace

std::optional<Side> ReadOutput(const Node& root, const Node& format, Diagnostics* diagnostics) {
  if (!format.Is(Node::Kind::kString)) {
    diagnostics->Report<Diag::WrongType>(format.span, "format", "a string", KindName(format.kind));
    return std::nullopt;
  }
  for (const auto& [start, kind] :
       {std::pair(kPlanFormat, SideKind::kPlan), std::pair(kReportFormat, SideKind::kReport)}) {
    if (!format.text.starts_with(start)) continue;
    const std::string known = std::string(start) + "1";
    if (format.text == known) return ReadSide(root, kind, diagnostics);
    diagnostics->Report<Diag::OtherVersion>(format.span, format.text, known);
    return std::nullopt;
  }
  diagnostics->Report<Diag::NotCompared>(format.span, format.text)
      .Help("what is compared: configs, kernelmap-plan/1 and kernelmap-report/1");
  return std::nullopt;
}

std::string_view SideKindName(SideKind kind) {
  switch (kind) {
    case SideKind::kNone:
      return "none";
    case SideKind::kConfig:
      return "config";
    case SideKind::kPlan:
      return "plan";
    case SideKind::kReport:
      return "report";
  }
  return "";
}

bool Side::Proved() const {
  if (kind == SideKind::kReport) return true;
  bool decided = false;
  for (const Site& site : sites) {
    if (site.action == Action::kCandidate) return false;
    decided |= site.action == Action::kReplaced || site.action == Action::kFused ||
               site.action == Action::kAlready;
  }
  return decided;
}

std::optional<Operand> ReadOperand(const OperandName& name, std::string bytes,
                                   const Environment& environment,
                                   std::vector<Diagnostic>* diagnostics) {
  Operand operand;
  operand.label = name.label;
  if (bytes.starts_with("PK\x03\x04") || bytes.starts_with("PK\x05\x06")) {
    Diagnostics found(std::make_shared<Source>(name.shown, ""));
    found.Report<Diag::ArchiveNotConfig>({0, 0}).Help(
        "what is compared: configs, plans and reports; `kernelmap inspect` shows a model");
    Append(&found, diagnostics);
    return std::nullopt;
  }
  if (GuessSyntax(name.path, bytes) == Syntax::kJson) {
    std::string text = bytes;
    RemoveByteOrderMark(&text);
    Diagnostics found(std::make_shared<Source>(name.shown, std::move(text)));
    const std::optional<Node> root = ReadDocument(Syntax::kJson, &found, kReportLimits);
    const Member* format = root ? root->Find("format") : nullptr;
    if (!root || found.errors() > 0 || format) {
      std::optional<Side> side;
      if (format && found.errors() == 0) side = ReadOutput(*root, format->value, &found);
      Append(&found, diagnostics);
      if (!side) return std::nullopt;
      operand.kind = side->kind;
      operand.side = std::move(*side);
      return operand;
    }
  }
  Loaded loaded = LoadConfigText(name.path, bytes, &environment);
  if (loaded.errors > 0) {
    RemoveByteOrderMark(&bytes);
    const auto shown = std::make_shared<Source>(name.shown, std::move(bytes));
    for (Diagnostic& diagnostic : loaded.diagnostics) {
      if (diagnostic.source->name() == name.path) diagnostic.source = shown;
      diagnostics->push_back(std::move(diagnostic));
    }
    return std::nullopt;
  }
  operand.kind = SideKind::kConfig;
  operand.config = std::move(loaded.config);
  return operand;
}

}  // namespace kernelmap
