// What is wrong with an input, as data. Every kind is declared once, in diagnostics.def; a wrong
// number of arguments does not compile. Steps collect diagnostics and go on; rendering is last.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "compiler/source.h"

namespace kernelmap {

enum class Severity { kError, kWarning };
/// "error" or "warning".
std::string_view SeverityName(Severity severity);

struct DiagnosticKind {
  std::string_view code;  // "KM0201"
  std::string_view name;  // "UnknownKey"
  Severity severity;
  std::string_view format;  // `{}` or `{word}` stands for an argument
  std::string_view explanation;
};

namespace diagnostics_internal {

inline constexpr Severity Error = Severity::kError;
inline constexpr Severity Warning = Severity::kWarning;

constexpr size_t CountPlaceholders(std::string_view format) {
  size_t count = 0;
  for (const char c : format) count += c == '{';
  return count;
}

template <typename T>
std::string ToText(const T& value) {
  if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else {
    return std::string(value);
  }
}

}  // namespace diagnostics_internal

/// Diag::UnknownKey and so on.
struct Diag {
#define KM_DIAGNOSTIC(code, name, severity, format, explanation)                             \
  static constexpr DiagnosticKind name{#code, #name, diagnostics_internal::severity, format, \
                                       explanation};
#include "compiler/diagnostics.def"
};

/// Every kind, in the order of diagnostics.def.
const std::vector<const DiagnosticKind*>& DiagnosticKinds();

/// What a kind is about, without an argument: "unknown key `KEY` in TABLE".
std::string DiagnosticTitle(const DiagnosticKind& kind);

struct Label {
  Span span;
  std::string text;
};

struct Diagnostic {
  const DiagnosticKind* kind = nullptr;
  std::string message;
  std::shared_ptr<const Source> source;
  Span span;
  std::vector<Label> labels;      // other places of the same source
  std::vector<std::string> help;  // what to do about it
  size_t stands_for = 1;          // how many mistakes this is; of those not kept, all of them
};

/// Collects the diagnostics of one source. Of errors and of warnings each it keeps the first
/// hundred; the others it counts. What a diagnostic quotes is shortened.
class Diagnostics {
 public:
  explicit Diagnostics(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  /// Adds to the diagnostic that was reported last.
  class Addition {
   public:
    explicit Addition(Diagnostic* diagnostic) : diagnostic_(diagnostic) {}
    /// An empty text adds nothing.
    Addition& Help(std::string text);
    /// The same of a function that makes the text, called only where the diagnostic is kept.
    template <typename Make>
    requires std::is_invocable_r_v<std::string, Make> Addition& Help(const Make& make) {
      return diagnostic_ ? Help(std::string(make())) : *this;
    }
    Addition& Note(Span span, std::string text);

   private:
    Diagnostic* diagnostic_;  // null when it was not kept
  };

  template <const DiagnosticKind& kind, typename... Args>
  Addition Report(Span span, const Args&... args) {
    static_assert(diagnostics_internal::CountPlaceholders(kind.format) == sizeof...(Args),
                  "the format of this diagnostic takes another number of arguments");
    return Add(kind, span, {diagnostics_internal::ToText(args)...});
  }

  const std::vector<Diagnostic>& list() const { return list_; }
  const std::shared_ptr<const Source>& source() const { return source_; }
  size_t errors() const { return errors_; }
  /// Ten thousand errors: what costs time need not be looked at any more.
  bool Overflows() const { return errors_ >= 10000; }
  size_t warnings() const { return warnings_; }

  /// The end of collecting: by place, then code; equal ones once, and counted once; last, how many
  /// were not kept.
  void Finish();

 private:
  Addition Add(const DiagnosticKind& kind, Span span, std::vector<std::string> args);
  void AddNotKept(const DiagnosticKind& kind, size_t count, Span first);

  std::shared_ptr<const Source> source_;
  std::vector<Diagnostic> list_;
  size_t errors_ = 0, warnings_ = 0;
  size_t errors_kept_ = 0, warnings_kept_ = 0;
  Span first_error_not_kept_, first_warning_not_kept_;
};

/// By place, then code; last what stands for several. Of one source.
void SortDiagnostics(std::vector<Diagnostic>* list);

/// As people read them, in `list`'s order; `color` adds ANSI colours. Empty for an empty list.
std::string DiagnosticsToText(const std::vector<Diagnostic>& list, bool color);

/// kernelmap-check/1, ending in a newline.
std::string DiagnosticsToJson(const std::vector<Diagnostic>& list);

/// A SARIF 2.1.0 log. `failures`: messages about files that could not be read. `version`:
/// kernelmap's own.
std::string DiagnosticsToSarif(const std::vector<Diagnostic>& list,
                               const std::vector<std::string>& failures, std::string_view version);

/// Workflow commands of GitHub Actions, a line each.
std::string DiagnosticsToGithub(const std::vector<Diagnostic>& list,
                                const std::vector<std::string>& failures);

}  // namespace kernelmap
