#include "compiler/store/source_check.h"

#include <algorithm>
#include <array>

namespace kernelmap {
namespace {

using Kind = PythonToken::Kind;

// The parser and the compiler recurse: these are far from where a stack ends.
constexpr size_t kMaxTokens = 1000;  // of a statement
constexpr size_t kMaxBrackets = 40;  // inside one another
constexpr size_t kMaxBlocks = 20;    // inside one another
constexpr size_t kMaxFunctions = 50;
constexpr size_t kMaxLines = 2000;

template <size_t N>
bool IsOneOf(const PythonToken& token, const std::array<std::string_view, N>& words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view w) { return token.Is(w); });
}

constexpr std::array<std::string_view, 8> kComparisons = {
    "<", ">", "<=", ">=", "==", "!=", "in", "is"};
// What ends an operand of a comparison.
constexpr std::array<std::string_view, 14> kEnds = {"and",    "or",   ",",     "=",     ":",
                                                    "if",     "else", ";",     "for",   "return",
                                                    "assert", "elif", "while", "lambda"};

}  // namespace

std::string StatementProblem(const PythonLine& line) {
  if (line.tokens.size() > kMaxTokens) return "a statement of too many parts";
  std::vector<int> comparisons(1);  // in the expression so far, one a bracket
  for (const PythonToken& token : line.tokens) {
    if (token.Opens()) {
      comparisons.push_back(0);
      if (comparisons.size() > kMaxBrackets) return "brackets too deep inside one another";
    } else if (token.Closes()) {
      if (comparisons.size() > 1) comparisons.pop_back();
    } else if (IsOneOf(token, kEnds)) {
      comparisons.back() = 0;
    } else if (IsOneOf(token, kComparisons) && ++comparisons.back() > 1) {
      return "a chained comparison";
    }
  }
  return "";
}

std::string CodeProblem(std::string_view text) {
  const auto lines = ReadPython(text);
  if (!lines) return "text that is not Python";
  if (lines->size() > kMaxLines) return "too many lines";
  size_t functions = 0;
  std::vector<int> indents;
  for (const PythonLine& line : *lines) {
    if (std::string problem = StatementProblem(line); !problem.empty()) return problem;
    if (!line.tokens.empty() && line.tokens[0].Is("def") && ++functions > kMaxFunctions) {
      return "too many functions";
    }
    while (!indents.empty() && indents.back() >= line.indent) indents.pop_back();
    indents.push_back(line.indent);
    if (indents.size() > kMaxBlocks) return "blocks too deep inside one another";
  }
  return "";
}

std::string FreshPrefix(const std::vector<PythonLine>& lines, std::string prefix) {
  const auto taken = [&] {
    return std::any_of(lines.begin(), lines.end(), [&](const PythonLine& line) {
      return std::any_of(line.tokens.begin(), line.tokens.end(), [&](const PythonToken& token) {
        return token.kind == Kind::kName && token.text.starts_with(prefix);
      });
    });
  };
  while (taken()) prefix.insert(prefix.begin(), '_');
  return prefix;
}

}  // namespace kernelmap
