#include "compiler/toml_scan.h"

#include <algorithm>
#include <string>
#include <vector>

#include "compiler/document.h"

namespace kernelmap {
namespace {

// It never counts more than is there.
class LimitScan {
 public:
  LimitScan(std::string_view text, Diagnostics* diagnostics)
      : text_(text), diagnostics_(diagnostics) {}

  bool WithinLimits() {
    for (bool line_start = true; at_ < text_.size();) {
      const char c = text_[at_];
      switch (c) {
        case '"':
        case '\'':
          at_ = TomlAfterString(text_, at_);
          line_start = false;
          continue;
        case '#':
          at_ = std::min(text_.find('\n', at_), text_.size());
          continue;
        case '.':
          ++key_dots_;
          if (Depth() + key_dots_ + 1 > kMaxDepth) return Refuse<Diag::TooDeep>(kMaxDepth);
          break;
        case '=':
          if (!EndKey(&dots_in_keys_) || !Count()) return false;
          break;
        case ',':
          key_dots_ = value_dots_ = 0;
          if (!open_.empty() && open_.back().list && !Count()) return false;
          break;
        case '[':
        case '{':
          if (c == '[' && line_start && open_.empty()) {
            if (!Count()) return false;
            BeginHeader();
            break;
          }
          open_.push_back({c == '[', value_dots_ + 1});
          levels_ += value_dots_ + 1;
          key_dots_ = value_dots_ = 0;
          if (Depth() > kMaxDepth) return Refuse<Diag::TooDeep>(kMaxDepth);
          break;
        case ']':
        case '}':
          if (in_header_ && !EndHeader()) return false;
          if (!open_.empty()) {
            levels_ -= open_.back().levels;
            open_.pop_back();
          }
          key_dots_ = value_dots_ = 0;
          break;
        case '\n':
          in_header_ = false;
          key_dots_ = 0;
          if (open_.empty()) value_dots_ = 0;
          break;
      }
      line_start = c == '\n' || (line_start && (c == ' ' || c == '\t' || c == '\r'));
      ++at_;
    }
    return true;
  }

 private:
  struct Open {
    bool list;   // [ or {
    int levels;  // that it adds, with the dots of its key
  };

  template <const DiagnosticKind& kind>
  bool Refuse(int limit) {
    diagnostics_->Report<kind>({at_, at_ + 1}, limit);
    return false;
  }

  int Depth() const { return header_levels_ + levels_; }

  bool Count() { return ++values_ <= kMaxValues || Refuse<Diag::TooMany>(kMaxValues); }

  // Adds the dots of a key that ends here to those of all `dots`.
  bool EndKey(int* dots) {
    value_dots_ = key_dots_;
    key_dots_ = 0;
    *dots += value_dots_;
    return *dots <= kMaxDots || Refuse<Diag::TooManyDots>(kMaxDots);
  }

  void BeginHeader() {
    in_header_ = true;
    header_levels_ = key_dots_ = value_dots_ = 0;
    if (text_.substr(at_, 2) == "[[") ++at_;
  }

  bool EndHeader() {
    const int dots = key_dots_;
    in_header_ = false;
    if (!EndKey(&dots_in_headers_)) return false;
    header_levels_ = dots + 1 + (text_.substr(at_, 2) == "]]");
    return true;
  }

  std::string_view text_;
  Diagnostics* diagnostics_;
  size_t at_ = 0;
  bool in_header_ = false;
  int header_levels_ = 0;  // of the tables that the last [header] names
  int key_dots_ = 0;       // of the key that is being read
  int value_dots_ = 0;     // of the key whose value is being read
  std::vector<Open> open_;
  int levels_ = 0;  // of all that is open
  int dots_in_keys_ = 0, dots_in_headers_ = 0;
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
    at = text[at] == '"' || text[at] == '\'' ? TomlAfterString(text, at) : at + 1;
  }
  return std::string_view::npos;
}

}  // namespace

size_t TomlAfterString(std::string_view text, size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  const bool multi = text.substr(at, 3) == three;
  at += multi ? 3 : 1;
  while (at < text.size()) {
    if (text[at] == '\\' && quote == '"') {
      at += 2;
    } else if (multi ? text.substr(at, 3) == three : text[at] == quote) {
      at += multi ? 3 : 1;
      // The string itself may end in two quotes.
      for (int more = 0; multi && more < 2 && at < text.size() && text[at] == quote; ++more) ++at;
      return at;
    } else if (!multi && text[at] == '\n') {
      return at;
    } else {
      ++at;
    }
  }
  return text.size();
}

bool TomlWithinLimits(std::string_view text, Diagnostics* diagnostics) {
  return LimitScan(text, diagnostics).WithinLimits();
}

std::optional<Span> TomlKeyAt(std::string_view text, size_t offset) {
  size_t begin = 0;            // of what may be a key
  std::optional<Span> before;  // the key before the last `=`
  for (size_t at = 0; at < std::min(offset, text.size());) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = TomlAfterString(text, at);
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
