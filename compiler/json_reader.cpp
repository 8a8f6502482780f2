// JSON through nlohmann's SAX parser, which stops here. It reports no places; the iterator it
// reads through counts the bytes it has taken, and a token ends where its event comes.
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "compiler/document.h"

namespace kernelmap {
namespace {

class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator old = *this;
    ++*this;
    return old;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** furthest_;
};

bool IsNumberCharacter(char c) {
  return (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.' || c == 'e' || c == 'E';
}

class Handler {
 public:
  Handler(Diagnostics* diagnostics, int max_values, const char** furthest)
      : diagnostics_(diagnostics),
        text_(diagnostics->source()->text()),
        max_values_(max_values),
        furthest_(furthest) {}

  bool null() { return Scalar(Node::Kind::kNull, 4) != nullptr; }
  bool boolean(bool value) {
    Node* node = Scalar(Node::Kind::kBool, value ? 4 : 5);
    if (node) node->boolean = value;
    return node;
  }
  bool number_integer(int64_t value) {
    Node* node = Scalar(Node::Kind::kInteger, NumberLength());
    if (node) node->integer = value;
    return node;
  }
  bool number_unsigned(uint64_t value) {
    if (value > INT64_MAX) return number_float(static_cast<double>(value), "");
    return number_integer(static_cast<int64_t>(value));
  }
  bool number_float(double value, const std::string&) {
    Node* node = Scalar(Node::Kind::kFloat, NumberLength());
    if (node) node->number = value;
    return node;
  }
  bool string(std::string& value) {
    Node* node = Scalar(Node::Kind::kString, 0);
    if (!node) return false;
    node->span = QuotedSpan();
    node->text = std::move(value);
    node->inside = {node->span.begin + 1, node->span.end - 1};
    node->verbatim = Slice(node->inside) == node->text;
    return true;
  }
  bool binary(std::vector<uint8_t>&) { return false; }  // never in JSON text
  bool start_object(size_t) { return Open(Node::Kind::kTable); }
  bool start_array(size_t) { return Open(Node::Kind::kArray); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }
  bool key(std::string& value) {
    Level& level = levels_.back();
    level.key = Member();
    level.key.key_span = QuotedSpan();
    level.key.inside = {level.key.key_span.begin + 1, level.key.key_span.end - 1};
    level.key.verbatim = Slice(level.key.inside) == value;
    level.key.key = value;
    const auto [first, is_first] = level.keys.emplace(value, level.key.key_span);
    level.duplicate = !is_first;
    if (level.duplicate) {
      diagnostics_->Report<Diag::DuplicateKey>(level.key.key_span, level.key.key)
          .Note(first->second, "first here");
    }
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception& e) {
    const std::string reason = Reason(e.what());
    diagnostics_->Report<Diag::JsonSyntax>(UnexpectedSpan(reason), reason);
    return false;
  }

  std::optional<Node> Finish() { return std::move(root_); }

 private:
  struct Level {
    Node node;
    Member key;  // the key whose value comes next
    bool duplicate = false;
    std::unordered_map<std::string, Span> keys;  // where each was first
  };

  size_t Position() const { return static_cast<size_t>(*furthest_ - text_.data()); }
  std::string_view Slice(Span span) const { return diagnostics_->source()->Slice(span); }

  // nlohmann reads one character past a number to see that it ends.
  size_t NumberEnd() const {
    size_t end = Position();
    if (end > 0 && !IsNumberCharacter(text_[end - 1])) --end;
    return end;
  }
  size_t NumberLength() const {
    const size_t end = NumberEnd();
    size_t begin = end;
    while (begin > 0 && IsNumberCharacter(text_[begin - 1])) --begin;
    return end - begin;
  }
  // The string whose closing quote was just read: back to the quote that opens it, which is the
  // last one with an even number of backslashes before it.
  Span QuotedSpan() const {
    const size_t end = Position();
    size_t begin = end - 1;
    while (begin > 0) {
      --begin;
      if (text_[begin] != '"') continue;
      size_t slashes = 0;
      while (slashes < begin && text_[begin - 1 - slashes] == '\\') ++slashes;
      if (slashes % 2 == 0) break;
    }
    return {begin, end};
  }

  // What a syntax error is about: the token whose last byte was read last.
  Span UnexpectedSpan(const std::string& reason) const {
    const size_t end = std::min(Position(), text_.size());
    if (reason.find("unexpected end of input") != std::string::npos) return {end, end};
    if (reason.find("unexpected string literal") != std::string::npos) return QuotedSpan();
    if (reason.find("unexpected number literal") != std::string::npos) {
      return {NumberEnd() - NumberLength(), NumberEnd()};
    }
    size_t begin = end - (end > 0);
    while (begin > 0 && (static_cast<unsigned char>(text_[begin]) & 0xC0) == 0x80) --begin;
    return {begin, end};
  }

  Node* Scalar(Node::Kind kind, size_t length) {
    Node node;
    node.kind = kind;
    const bool number = kind == Node::Kind::kInteger || kind == Node::Kind::kFloat;
    const size_t end = number ? NumberEnd() : Position();
    node.span = {end - length, end};
    return Counted(node.span) ? Place(std::move(node)) : nullptr;
  }

  bool Counted(Span span) {
    if (++values_ <= max_values_) return true;
    diagnostics_->Report<Diag::TooMany>(span, max_values_);
    return false;
  }

  // Puts a finished value where it belongs. A second value of a key is thrown away.
  Node* Place(Node node) {
    if (levels_.empty()) {
      root_ = std::move(node);
      return &*root_;
    }
    Level& level = levels_.back();
    if (level.node.Is(Node::Kind::kArray)) {
      level.node.items.push_back(std::move(node));
      return &level.node.items.back();
    }
    if (level.duplicate) {
      thrown_away_ = std::move(node);
      return &thrown_away_;
    }
    level.key.value = std::move(node);
    level.node.members.push_back(std::move(level.key));
    return &level.node.members.back().value;
  }

  bool Open(Node::Kind kind) {
    const size_t at = Position();
    if (levels_.size() >= kMaxDepth) {
      diagnostics_->Report<Diag::TooDeep>({at - 1, at}, kMaxDepth);
      return false;
    }
    if (!Counted({at - 1, at})) return false;
    levels_.emplace_back();
    levels_.back().node.kind = kind;
    levels_.back().node.span = {at - 1, at};
    return true;
  }

  bool Close() {
    Node node = std::move(levels_.back().node);
    node.span.end = Position();
    levels_.pop_back();
    Place(std::move(node));
    return true;
  }

  // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing
  // value - invalid literal; last read: '{a'" -> "invalid literal".
  static std::string Reason(std::string text) {
    if (const size_t at = text.find(" - "); at != std::string::npos) text.erase(0, at + 3);
    if (const size_t at = text.rfind("; last read:"); at != std::string::npos) {
      const size_t expected = text.find("; expected", at);
      text.erase(at, expected == std::string::npos ? std::string::npos : expected - at);
    }
    return text;
  }

  Diagnostics* diagnostics_;
  std::string_view text_;
  int max_values_;
  const char** furthest_;
  std::vector<Level> levels_;
  std::optional<Node> root_;
  int values_ = 0;
  Node thrown_away_;
};

}  // namespace

std::optional<Node> ReadJson(Diagnostics* diagnostics, int max_values) {
  const std::string_view text = diagnostics->source()->text();
  const char* furthest = text.data();
  Handler handler(diagnostics, max_values, &furthest);
  const size_t errors = diagnostics->errors();
  const bool read =
      nlohmann::json::sax_parse(CountingIterator(text.data(), &furthest),
                                CountingIterator(text.data() + text.size(), nullptr), &handler);
  if (!read && diagnostics->errors() == errors) {
    diagnostics->Report<Diag::JsonSyntax>({0, 0}, "not JSON");
  }
  if (!read) return std::nullopt;
  return handler.Finish();
}

}  // namespace kernelmap
