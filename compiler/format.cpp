#include "compiler/format.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>

namespace kernelmap {
namespace {

// Puts `fill(word)` in the place of each `{word}`.
template <typename Fill>
std::string ReplaceWords(std::string_view pattern, Fill fill) {
  std::string text;
  while (!pattern.empty()) {
    const size_t open = std::min(pattern.find('{'), pattern.size());
    text += pattern.substr(0, open);
    pattern.remove_prefix(open);
    if (pattern.empty()) break;
    const size_t close = std::min(pattern.find('}'), pattern.size() - 1);
    text += fill(pattern.substr(1, close - 1));
    pattern.remove_prefix(close + 1);
  }
  return text;
}

}  // namespace

std::string FormatText(std::string_view pattern, const std::vector<std::string>& args) {
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  for (const std::string& arg : args) store.push_back(std::string_view(arg));
  return fmt::vformat(ReplaceWords(pattern, [](std::string_view) { return "{}"; }), store);
}

std::string FormatTitle(std::string_view pattern) {
  return ReplaceWords(pattern, [](std::string_view word) {
    if (word.empty()) return std::string("…");
    std::string capital(word);
    for (char& c : capital) {
      if ('a' <= c && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    return capital;
  });
}

}  // namespace kernelmap
