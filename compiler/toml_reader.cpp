// TOML through toml++, which stops here. It recurses into nested values and looks through its
// tables in order, so a scan before it bounds the depth of dotted keys and the number of tables and
// keys. (Nested brackets it bounds itself, at 256.)
#include <toml++/toml.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "compiler/document.h"

namespace kernelmap {
namespace {

// Follows the lexical structure of TOML only: strings, comments, and where a key's dots are. Where
// a text is not TOML it may lose its way, but toml++ stops at that very place.
class LimitScan {
 public:
  LimitScan(std::string_view text, Diagnostics* diagnostics)
      : text_(text), diagnostics_(diagnostics) {}

  bool WithinLimits() {
    bool line_start = true;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        SkipString(c);
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

  void SkipString(char quote) {
    const std::string three(3, quote);
    const bool multi = text_.substr(at_, 3) == three;
    at_ += multi ? 3 : 1;
    while (at_ < text_.size()) {
      if (text_[at_] == '\\' && quote == '"') {
        at_ += 2;
      } else if (multi ? text_.substr(at_, 3) == three : text_[at_] == quote) {
        at_ += multi ? 3 : 1;
        return;
      } else if (!multi && text_[at_] == '\n') {
        return;
      } else {
        ++at_;
      }
    }
    at_ = text_.size();
  }

  std::string_view text_;
  Diagnostics* diagnostics_;
  size_t at_ = 0;
  int dots_ = 0;
  int values_ = 0;
};

class Converter {
 public:
  explicit Converter(Diagnostics* diagnostics)
      : source_(*diagnostics->source()), diagnostics_(diagnostics) {}

  bool refused() const { return refused_; }

  Node Convert(const toml::node& from, Span fallback, int depth) {
    Node node;
    node.span = SpanOf(from.source());
    if (node.span.begin == node.span.end) node.span = fallback;
    if (refused_) return node;
    if (depth > kMaxDepth) {
      diagnostics_->Report<Diag::TooDeep>(node.span, kMaxDepth);
      refused_ = true;
      return node;
    }
    if (++values_ > kMaxValues) {
      diagnostics_->Report<Diag::TooMany>(node.span, kMaxValues);
      refused_ = true;
      return node;
    }
    if (const auto* table = from.as_table()) {
      node.kind = Node::Kind::kTable;
      for (const auto& [key, value] : *table) {
        Member member;
        member.key = std::string(key.str());
        member.key_span = SpanOf(key.source());
        Quotes(member.key, member.key_span, &member.verbatim, &member.inside);
        member.value = Convert(value, member.key_span, depth + 1);
        node.members.push_back(std::move(member));
      }
      std::sort(node.members.begin(), node.members.end(), [](const Member& a, const Member& b) {
        return std::tie(a.key_span, a.key) < std::tie(b.key_span, b.key);
      });
    } else if (const auto* array = from.as_array()) {
      node.kind = Node::Kind::kArray;
      for (const toml::node& item : *array) {
        node.items.push_back(Convert(item, node.span, depth + 1));
      }
    } else if (const auto* text = from.as_string()) {
      node.kind = Node::Kind::kString;
      node.text = text->get();
      Quotes(node.text, node.span, &node.verbatim, &node.inside);
    } else if (const auto* integer = from.as_integer()) {
      node.kind = Node::Kind::kInteger;
      node.integer = integer->get();
    } else if (const auto* number = from.as_floating_point()) {
      node.kind = Node::Kind::kFloat;
      node.number = number->get();
    } else if (const auto* boolean = from.as_boolean()) {
      node.kind = Node::Kind::kBool;
      node.boolean = boolean->get();
    } else {
      node.kind = Node::Kind::kDate;
    }
    return node;
  }

 private:
  size_t OffsetOf(const toml::source_position& at) const {
    return source_.Offset({static_cast<int>(at.line), static_cast<int>(at.column)});
  }

  Span SpanOf(const toml::source_region& region) const {
    if (!region.begin) return {};
    const size_t begin = OffsetOf(region.begin);
    return {begin, region.end ? std::max(begin, OffsetOf(region.end)) : begin};
  }

  // Finds the decoded `text` within a span that may have quotes around it.
  void Quotes(const std::string& text, Span span, bool* verbatim, Span* inside) const {
    const std::string_view raw = source_.Slice(span);
    for (const size_t quotes : {0, 1, 3}) {
      if (raw.size() != text.size() + 2 * quotes) continue;
      if (raw.substr(quotes, text.size()) != text) continue;
      *verbatim = true;
      *inside = {span.begin + quotes, span.end - quotes};
      return;
    }
    *inside = span;
  }

  const Source& source_;
  Diagnostics* diagnostics_;
  int values_ = 0;
  bool refused_ = false;
};

// An unquoted key such as cuda>=8.0 is the likeliest mistake in a config.
std::string HelpForError(std::string_view line) {
  const size_t equals = line.find('=');
  const size_t bound = line.find_first_of("<>!");
  if (bound == std::string_view::npos) return "";
  if (equals != std::string_view::npos && equals + 1 < bound) return "";
  size_t begin = line.find_first_not_of(" \t{");
  if (begin == std::string_view::npos || line[begin] == '[' || line[begin] == '"') return "";
  return "a key with bounds needs quotes: \"cuda>=8.0\" = …";
}

std::string FirstLower(std::string_view text) {
  std::string lower(text);
  if (lower.size() > 1 && lower[0] >= 'A' && lower[0] <= 'Z' && lower[1] >= 'a') {
    lower[0] = static_cast<char>(lower[0] - 'A' + 'a');
  }
  return lower;
}

}  // namespace

std::optional<Node> ReadToml(Diagnostics* diagnostics) {
  const Source& source = *diagnostics->source();
  if (!LimitScan(source.text(), diagnostics).WithinLimits()) return std::nullopt;
  try {
    const toml::table table = toml::parse(source.text());
    Converter converter(diagnostics);
    Node root = converter.Convert(table, {0, 0}, 0);
    if (converter.refused()) return std::nullopt;
    return root;
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    const size_t begin = source.Offset({static_cast<int>(at.line), static_cast<int>(at.column)});
    const bool at_end = begin >= source.text().size() || source.text()[begin] == '\n' ||
                        source.text()[begin] == '\r';
    diagnostics
        ->Report<Diag::TomlSyntax>({begin, at_end ? begin : begin + 1},
                                   FirstLower(error.description()))
        .Help(HelpForError(source.Line(static_cast<int>(at.line))));
    return std::nullopt;
  }
}

}  // namespace kernelmap
