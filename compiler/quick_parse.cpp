#include "compiler/quick_parse.h"

#include <algorithm>

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
    case Rule::kPattern:
      return Pattern(text);
    default:
      return std::nullopt;
  }
}

}  // namespace kernelmap
