#include "compiler/diagnostics.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "compiler/format.h"

namespace kernelmap {
namespace {

constexpr size_t kMaxKept = 1000;

auto Order(const Diagnostic& d) { return std::tie(d.span, d.kind->code, d.message); }

}  // namespace

const std::vector<const DiagnosticKind*>& DiagnosticKinds() {
  static const std::vector<const DiagnosticKind*> kinds = {
#define KM_DIAGNOSTIC(code, name, severity, format, explanation) &Diag::name,
#include "compiler/diagnostics.def"
  };
  return kinds;
}

std::string_view SeverityName(Severity severity) {
  return severity == Severity::kError ? "error" : "warning";
}

std::string DiagnosticTitle(const DiagnosticKind& kind) { return FormatTitle(kind.format); }

Diagnostics::Addition& Diagnostics::Addition::Help(std::string text) {
  if (diagnostic_ && !text.empty()) diagnostic_->help.push_back(std::move(text));
  return *this;
}

Diagnostics::Addition& Diagnostics::Addition::Note(Span span, std::string text) {
  if (diagnostic_) diagnostic_->labels.push_back({span, std::move(text)});
  return *this;
}

Diagnostics::Addition Diagnostics::Add(const DiagnosticKind& kind, Span span,
                                       std::vector<std::string> args) {
  (kind.severity == Severity::kError ? errors_ : warnings_)++;
  if (list_.size() >= kMaxKept) return Addition(nullptr);
  list_.push_back({&kind, FormatText(kind.format, args), source_, span, {}, {}});
  return Addition(&list_.back());
}

void Diagnostics::Sort() {
  std::stable_sort(list_.begin(), list_.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return Order(a) < Order(b); });
  std::vector<Diagnostic> kept;
  for (Diagnostic& diagnostic : list_) {
    if (kept.empty() || Order(kept.back()) != Order(diagnostic)) {
      kept.push_back(std::move(diagnostic));
    } else {
      (diagnostic.kind->severity == Severity::kError ? errors_ : warnings_)--;
    }
  }
  list_ = std::move(kept);
}

}  // namespace kernelmap
