#include "compiler/quick_parse.h"

#include <algorithm>
#include <iterator>

namespace kernelmap {
namespace {

// WORD of KernelRef.g4.
bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

bool IsWord(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsWordCharacter);
}

// Where the first `end` stands from `from` on, or where the text ends.
size_t Until(std::string_view text, char end, size_t from) {
  return std::min(text.find(end, from), text.size());
}

using Quick = std::optional<ParseResult>;

// org/repo, org/repo@revision, either with :Name
Quick HubRef(std::string_view text) {
  const size_t slash = Until(text, '/', 0);
  const size_t colon = Until(text, ':', slash);
  const size_t repo_end = std::min(Until(text, '@', slash), colon);
  if (slash == text.size() || !IsWord(text.substr(0, slash)) ||
      !IsWord(text.substr(slash + 1, repo_end - slash - 1))) {
    return std::nullopt;
  }
  ParseResult result;
  result.pieces = {{"owner", 0, slash}, {"repo", slash + 1, repo_end}};
  if (repo_end < colon) {
    if (repo_end + 1 == colon) return std::nullopt;
    result.pieces.push_back({"revision", repo_end + 1, colon});
  }
  if (colon < text.size()) {
    if (!IsWord(text.substr(colon + 1))) return std::nullopt;
    result.pieces.push_back({"symbol", colon + 1, text.size()});
  }
  return result;
}

// /abs/path:Name, /abs/path
Quick LocalRef(std::string_view text) {
  const size_t slash = text.rfind('/');
  if (!text.starts_with('/') || slash + 1 == text.size()) return std::nullopt;
  const size_t colon = text.rfind(':');
  ParseResult result;
  if (colon == std::string_view::npos || colon < slash) {
    result.pieces = {{"barePath", 0, text.size()}};
  } else if (colon > slash + 1 && IsWord(text.substr(colon + 1))) {
    result.pieces = {{"path", 0, colon}, {"symbol", colon + 1, text.size()}};
  } else {
    return std::nullopt;
  }
  return result;
}

Quick BuiltinRef(std::string_view text) {
  const size_t colon = Until(text, ':', 0);
  if (colon == text.size() || !IsWord(text.substr(0, colon)) || !IsWord(text.substr(colon + 1))) {
    return std::nullopt;
  }
  ParseResult result;
  result.pieces = {{"symbol", colon + 1, text.size()}};
  return result;
}

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameCharacter(char c) { return IsLetter(c) || IsDigit(c) || c == '_'; }
bool IsVersionCharacter(char c) { return IsWordCharacter(c) || c == '+' || c == '*'; }
bool IsOperatorCharacter(char c) {
  return c == '<' || c == '>' || c == '=' || c == '!' || c == '~';
}

// Where the characters from `from` on stop being such.
size_t After(std::string_view text, size_t from, bool (*is)(char)) {
  while (from < text.size() && is(text[from])) ++from;
  return from;
}

// A device, with or without bounds joined by commas. Spaces are left to ANTLR, as below.
Quick Selector(std::string_view text) {
  size_t at = After(text, 0, IsNameCharacter);
  if (at == 0 || !IsLetter(text[0])) return std::nullopt;
  ParseResult result;
  result.pieces = {{"device", 0, at}};
  while (at < text.size()) {
    const size_t bound = at, capability = After(text, at, IsOperatorCharacter);
    const std::string_view op = text.substr(bound, capability - bound);
    constexpr std::string_view kOperators[] = {">=", "<=", "==", "<", ">", "!=", "~=", "="};
    if (std::find(std::begin(kOperators), std::end(kOperators), op) == std::end(kOperators)) {
      return std::nullopt;
    }
    // A word, or numbers with dots between them.
    at = After(text, capability, IsNameCharacter);
    if (at == capability) return std::nullopt;
    if (!IsLetter(text[capability])) {
      for (at = After(text, capability, IsDigit); at < text.size() && text[at] == '.';) {
        const size_t digits = at + 1;
        at = After(text, digits, IsDigit);
        if (at == digits) return std::nullopt;
      }
      if (at == capability) return std::nullopt;
    }
    result.pieces.push_back({"bound", bound, at});
    result.pieces.push_back({"capability", capability, at});
    if (at < text.size() && (text[at++] != ',' || at == text.size())) return std::nullopt;
  }
  return result;
}

// Words joined by bars.
Quick ModeWords(std::string_view text) {
  ParseResult result;
  for (size_t begin = 0;;) {
    const size_t end = After(text, begin, IsNameCharacter);
    if (begin == end || (end < text.size() && text[end] != '|')) return std::nullopt;
    result.pieces.push_back({"word", begin, end});
    if (end == text.size()) return result;
    begin = end + 1;
  }
}

// Comparisons joined by commas.
Quick Specifiers(std::string_view text) {
  ParseResult result;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at, version = After(text, at, IsOperatorCharacter);
    const std::string_view op = text.substr(begin, version - begin);
    constexpr std::string_view kOperators[] = {"===", "==", "~=", "!=", "<=", ">=", "<", ">"};
    if (std::find(std::begin(kOperators), std::end(kOperators), op) == std::end(kOperators)) {
      return std::nullopt;
    }
    at = After(text, version, IsVersionCharacter);
    if (at == version || !(IsLetter(text[version]) || IsDigit(text[version]))) return std::nullopt;
    if (at < text.size() && text[at] == '!') {  // the epoch was before
      const size_t release = at + 1;
      at = After(text, release, IsVersionCharacter);
      if (at == release) return std::nullopt;
    }
    result.pieces.push_back({"comparison", begin, at});
    result.pieces.push_back({"version", version, at});
    if (at < text.size() && text[at] != ',') return std::nullopt;
    while (at < text.size() && text[at] == ',') ++at;
  }
  if (result.pieces.empty()) return std::nullopt;
  return result;
}

// Segments joined by dots, a star at the end of each at most.
Quick Pattern(std::string_view text) {
  for (size_t begin = 0;;) {
    const size_t end = Until(text, '.', begin);
    if (begin == end) return std::nullopt;
    const std::string_view before_last = text.substr(begin, end - begin - 1);
    if (before_last.find('*') != std::string_view::npos) return std::nullopt;
    if (end == text.size()) return ParseResult();
    begin = end + 1;
  }
}

}  // namespace

std::optional<ParseResult> QuickParse(Rule rule, std::string_view text) {
  switch (rule) {
    case Rule::kHubRef:
      return HubRef(text);
    case Rule::kLocalRef:
      return LocalRef(text);
    case Rule::kBuiltinRef:
      return BuiltinRef(text);
    case Rule::kSpecifiers:
      return Specifiers(text);
    case Rule::kSelector:
      return Selector(text);
    case Rule::kMode:
      return ModeWords(text);
    case Rule::kPattern:
      return Pattern(text);
    default:
      return std::nullopt;
  }
}

}  // namespace kernelmap
