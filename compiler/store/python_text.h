// Python source cut into tokens and logical lines, as far as reading one class needs it. Nothing
// runs, and nothing is checked beyond what cutting needs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kernelmap {

struct PythonToken {
  enum class Kind { kName, kNumber, kString, kOperator };
  Kind kind = Kind::kOperator;
  std::string text;  // a string with its quotes and prefix; an operator of one to three characters
  bool space = false;  // white space before it
  bool Is(std::string_view other) const { return kind != Kind::kString && text == other; }
  bool Opens() const { return Is("(") || Is("[") || Is("{"); }
  bool Closes() const { return Is(")") || Is("]") || Is("}"); }
  /// `=`, `+=`, `:=`, ...: not a comparison.
  bool Assigns() const {
    return kind == Kind::kOperator && text.ends_with('=') && !Is("==") && !Is("!=") && !Is("<=") &&
           !Is(">=");
  }
};

/// What Python reads as one statement or the head of one: brackets and `\` join lines, comments and
/// empty lines are gone.
struct PythonLine {
  int indent = 0;
  int number = 0;  // of its first line in the text, from 1
  std::vector<PythonToken> tokens;
};

/// Nothing where a string or bracket is not closed, the text is larger than a source file is, or it
/// is no UTF-8.
std::optional<std::vector<PythonLine>> ReadPython(std::string_view text);

/// Tokens as text, with the spaces they had.
std::string JoinTokens(const std::vector<PythonToken>& tokens, size_t begin, size_t end);

/// The index of the bracket that closes the one at `open`; the number of tokens when none does.
size_t ClosingBracket(const std::vector<PythonToken>& tokens, size_t open);

}  // namespace kernelmap
