#include "compiler/diagnostics.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "compiler/format.h"

namespace kernelmap {
namespace {

constexpr size_t kMaxKept = 100;    // of errors, and of warnings
constexpr size_t kMaxQuoted = 300;  // bytes of a text that a diagnostic quotes

std::string Shortened(std::string text) {
  if (text.size() <= kMaxQuoted) return text;
  size_t end = kMaxQuoted;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text + "…";
}

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
  if (diagnostic_ && !text.empty()) diagnostic_->help.push_back(Shortened(std::move(text)));
  return *this;
}

Diagnostics::Addition& Diagnostics::Addition::Note(Span span, std::string text) {
  if (diagnostic_) diagnostic_->labels.push_back({span, Shortened(std::move(text))});
  return *this;
}

Diagnostics::Addition Diagnostics::Add(const DiagnosticKind& kind, Span span,
                                       std::vector<std::string> args) {
  const bool error = kind.severity == Severity::kError;
  (error ? errors_ : warnings_)++;
  size_t& kept = error ? errors_kept_ : warnings_kept_;
  if (kept == kMaxKept) {
    const bool first = (error ? errors_ : warnings_) == kMaxKept + 1;
    if (first) (error ? first_error_not_kept_ : first_warning_not_kept_) = span;
    return Addition(nullptr);
  }
  ++kept;
  for (std::string& arg : args) arg = Shortened(std::move(arg));
  list_.push_back({&kind, FormatText(kind.format, args), source_, span, {}, {}});
  return Addition(&list_.back());
}

void SortDiagnostics(std::vector<Diagnostic>* list) {
  std::stable_sort(list->begin(), list->end(), [](const Diagnostic& a, const Diagnostic& b) {
    const bool last_a = a.stands_for > 1, last_b = b.stands_for > 1;
    return last_a != last_b ? last_b : Order(a) < Order(b);
  });
}

void Diagnostics::AddNotKept(const DiagnosticKind& kind, size_t count, Span first) {
  if (count == 0) return;
  const std::string least = Overflows() ? " or more" : "";
  list_.push_back(
      {&kind, FormatText(kind.format, {std::to_string(count) + least}), source_, first, {}, {}});
  list_.back().stands_for = count;
}

void Diagnostics::Finish() {
  SortDiagnostics(&list_);
  const size_t more_errors = errors_ - errors_kept_, more_warnings = warnings_ - warnings_kept_;
  std::vector<Diagnostic> kept;
  for (Diagnostic& diagnostic : list_) {
    if (kept.empty() || Order(kept.back()) != Order(diagnostic)) {
      kept.push_back(std::move(diagnostic));
    } else {
      (diagnostic.kind->severity == Severity::kError ? errors_ : warnings_)--;
    }
  }
  list_ = std::move(kept);
  AddNotKept(Diag::MoreErrors, more_errors, first_error_not_kept_);
  AddNotKept(Diag::MoreWarnings, more_warnings, first_warning_not_kept_);
}

}  // namespace kernelmap
