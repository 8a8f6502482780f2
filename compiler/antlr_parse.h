// What the small-language parsers see of a parse: plain data, so that ANTLR stays in one file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kernelmap {

/// A piece that a grammar rule matched: bytes [begin, end) of the text.
struct Piece {
  std::string rule;  // "owner", "revision"
  size_t begin = 0;
  size_t end = 0;
  int level = 0;  // of the rule's call: deeper ones are inside
};

struct SyntaxError {
  size_t begin = 0;
  size_t end = 0;
  std::string expected;  // "`:` or the end"
  std::string found;     // "`x`", "the end"
};

struct ParseResult {
  std::vector<Piece> pieces;        // in the order of the text, outer before inner
  std::vector<SyntaxError> errors;  // at most one
  std::string_view Get(std::string_view text, std::string_view rule) const;
};

enum class Rule { kHubRef, kLocalRef, kBuiltinRef, kSpecifiers, kSelector, kMode, kPattern, kLayout };

/// Parses all of `text`, which is UTF-8 and bounded in length by the caller. Common right texts
/// never come to ANTLR (quick_parse.h).
ParseResult RunParser(Rule rule, std::string_view text);

/// The same by ANTLR alone, the measure of the other.
ParseResult RunAntlr(Rule rule, std::string_view text);

}  // namespace kernelmap
