#include "compiler/store/python_text.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "compiler/source.h"

namespace kernelmap {
namespace {

constexpr size_t kMaxText = 1 << 20;

bool IsWord(char c) {
  return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         static_cast<unsigned char>(c) >= 0x80;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::optional<std::vector<PythonLine>> Run() {
    if (text_.size() > kMaxText || text_.find('\0') != std::string_view::npos ||
        ValidUtf8Prefix(text_) != text_.size()) {
      return std::nullopt;
    }
    while (at_ < text_.size()) {
      if (!Step()) return std::nullopt;
    }
    FinishLine();
    if (depth_ > 0) return std::nullopt;
    return std::move(lines_);
  }

 private:
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  bool Step() {
    const char c = Peek();
    if (c == '\n') {
      if (depth_ == 0) FinishLine();
      ++number_;
      ++at_;
      space_ = true;
      if (depth_ == 0) line_.indent = 0;
    } else if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '\\' && (Peek(1) == '\n' || (Peek(1) == '\r' && Peek(2) == '\n'))) {
      at_ += Peek(1) == '\r' ? 3 : 2;
      ++number_;
      space_ = true;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      if (line_.tokens.empty() && depth_ == 0) {
        if (c == ' ') ++line_.indent;
        if (c == '\t') line_.indent += 8 - line_.indent % 8;
      }
      space_ = true;
      ++at_;
    } else {
      return Token();
    }
    return true;
  }

  bool Token() {
    size_t word = 0;
    while (IsWord(Peek(word))) ++word;
    const char after = Peek(word);
    const bool is_string = after == '"' || after == '\'';
    if (is_string && word <= 2 && std::isdigit(static_cast<unsigned char>(Peek())) == 0) {
      return String(word);
    }
    if (word > 0) {
      if (std::isdigit(static_cast<unsigned char>(Peek())) == 0) {
        Add(PythonToken::Kind::kName, word);
      } else {
        Add(PythonToken::Kind::kNumber, Number());
      }
      return true;
    }
    if (Peek() == '.' && std::isdigit(static_cast<unsigned char>(Peek(1))) != 0) {
      Add(PythonToken::Kind::kNumber, Number());
      return true;
    }
    static constexpr std::string_view kLong[] = {
        "**=", "//=", "<<=", ">>=", "...", "->", ":=", "**", "//", "<<", ">>", "==",
        "!=",  "<=",  ">=",  "+=",  "-=",  "*=", "/=", "%=", "@=", "&=", "|=", "^="};
    size_t length = 1;
    for (const std::string_view op : kLong) {
      if (text_.substr(at_, op.size()) == op) {
        length = op.size();
        break;
      }
    }
    const char c = Peek();
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if (c == ')' || c == ']' || c == '}') --depth_;
    if (depth_ < 0) return false;
    Add(PythonToken::Kind::kOperator, length);
    return true;
  }

  size_t Number() const {
    size_t length = 0;
    while (IsWord(Peek(length)) || Peek(length) == '.' ||
           ((Peek(length) == '-' || Peek(length) == '+') && length > 0 &&
            (Peek(length - 1) == 'e' || Peek(length - 1) == 'E') && Peek(1) != 'x')) {
      ++length;
    }
    return length;
  }

  bool String(size_t prefix) {
    const std::string_view rest = text_.substr(at_ + prefix);
    const bool triple = rest.substr(0, 3) == std::string(3, rest[0]);
    const std::string_view end = rest.substr(0, triple ? 3 : 1);
    const int first = number_;
    for (size_t i = end.size(); i < rest.size(); ++i) {
      if (rest.substr(i, end.size()) == end) {
        const int last = number_;
        number_ = first;  // of the line, if this is its first token
        Add(PythonToken::Kind::kString, prefix + i + end.size());
        number_ = last;
        return true;
      }
      if (rest[i] == '\\') ++i;
      if (i < rest.size() && rest[i] == '\n') {
        if (!triple && rest[i - 1] != '\\') return false;
        ++number_;
      }
    }
    return false;
  }

  void Add(PythonToken::Kind kind, size_t length) {
    if (line_.tokens.empty()) line_.number = number_;
    line_.tokens.push_back({kind, std::string(text_.substr(at_, length)), space_});
    space_ = false;
    at_ += length;
  }

  void FinishLine() {
    if (!line_.tokens.empty()) lines_.push_back(std::move(line_));
    line_ = {};
  }

  std::string_view text_;
  size_t at_ = 0;
  int number_ = 1, depth_ = 0;
  bool space_ = false;
  PythonLine line_;
  std::vector<PythonLine> lines_;
};

}  // namespace

std::optional<std::vector<PythonLine>> ReadPython(std::string_view text) {
  return Reader(text).Run();
}

std::string JoinTokens(const std::vector<PythonToken>& tokens, size_t begin, size_t end) {
  std::string text;
  for (size_t i = begin; i < end && i < tokens.size(); ++i) {
    if (i > begin && tokens[i].space) text += ' ';
    text += tokens[i].text;
  }
  return text;
}

size_t ClosingBracket(const std::vector<PythonToken>& tokens, size_t open) {
  int depth = 0;
  for (size_t i = open; i < tokens.size(); ++i) {
    if (tokens[i].Opens()) ++depth;
    if (tokens[i].Closes()) --depth;
    if (depth == 0) return i;
  }
  return tokens.size();
}

}  // namespace kernelmap
