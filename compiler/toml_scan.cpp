#include "compiler/toml_scan.h"

#include <algorithm>
#include <string>

#include "compiler/document.h"

namespace kernelmap {
namespace {

// The place after the string that begins at `at`; of one that does not end, its line's or the
// text's end.
size_t AfterString(std::string_view text, size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  const bool multi = text.substr(at, 3) == three;
  at += multi ? 3 : 1;
  while (at < text.size()) {
    if (text[at] == '\\' && quote == '"') {
      at += 2;
    } else if (multi ? text.substr(at, 3) == three : text[at] == quote) {
      return at + (multi ? 3 : 1);
    } else if (!multi && text[at] == '\n') {
      return at;
    } else {
      ++at;
    }
  }
  return text.size();
}

class LimitScan {
 public:
  LimitScan(std::string_view text, Diagnostics* diagnostics)
      : text_(text), diagnostics_(diagnostics) {}

  bool WithinLimits() {
    bool line_start = true;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        at_ = AfterString(text_, at_);
        line_start = false;
        continue;
      }
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      if (c == '.') {
        if (++dots_ >= kMaxDepth) return Refuse<Diag::TooDeep>(kMaxDepth);
        if (dots_ == 1 && ++values_ > kMaxValues) return Refuse<Diag::TooMany>(kMaxValues);
      } else if (std::string_view(",=[]{}\n").find(c) != std::string_view::npos) {
        dots_ = 0;
        if (c == '[' && line_start && ++values_ > kMaxValues) {
          return Refuse<Diag::TooMany>(kMaxValues);
        }
        if ((c == '{' || c == '=') && ++values_ > kMaxValues) {
          return Refuse<Diag::TooMany>(kMaxValues);
        }
      }
      line_start = c == '\n' || (line_start && (c == ' ' || c == '\t' || c == '\r'));
      ++at_;
    }
    return true;
  }

 private:
  template <const DiagnosticKind& kind>
  bool Refuse(int limit) {
    diagnostics_->Report<kind>({at_, at_ + 1}, limit);
    return false;
  }

  std::string_view text_;
  Diagnostics* diagnostics_;
  size_t at_ = 0;
  int dots_ = 0;
  int values_ = 0;
};

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r'; }

Span Trimmed(std::string_view text, size_t begin, size_t end) {
  while (begin < end && IsSpace(text[begin])) ++begin;
  while (end > begin && IsSpace(text[end - 1])) --end;
  return {begin, end};
}

// Where the first of `stops` outside strings is, from `at` to the end of the line.
size_t FindOutsideStrings(std::string_view text, size_t at, std::string_view stops) {
  while (at < text.size() && text[at] != '\n') {
    if (stops.find(text[at]) != std::string_view::npos) return at;
    at = text[at] == '"' || text[at] == '\'' ? AfterString(text, at) : at + 1;
  }
  return std::string_view::npos;
}

}  // namespace

bool TomlWithinLimits(std::string_view text, Diagnostics* diagnostics) {
  return LimitScan(text, diagnostics).WithinLimits();
}

std::optional<Span> TomlKeyAt(std::string_view text, size_t offset) {
  size_t begin = 0;            // of what may be a key
  std::optional<Span> before;  // the key before the last `=`
  for (size_t at = 0; at < std::min(offset, text.size());) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = AfterString(text, at);
      continue;
    }
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (c == '=') {
      before = Trimmed(text, begin, at);
    } else if (std::string_view(",{[\n").find(c) != std::string_view::npos) {
      begin = at + 1;
      before.reset();
    }
    ++at;
  }
  if (before) return before;
  if (offset >= text.size()) return std::nullopt;
  const bool header = text[offset] == '[';
  begin = offset;
  while (begin < text.size() && text[begin] == '[') ++begin;
  const size_t end = FindOutsideStrings(text, begin, header ? "]" : "=");
  if (end == std::string_view::npos) return std::nullopt;
  return Trimmed(text, begin, end);
}

}  // namespace kernelmap
