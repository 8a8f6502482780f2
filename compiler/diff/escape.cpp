#include "compiler/diff/escape.h"

#include "compiler/display.h"
#include "compiler/source.h"

namespace kernelmap {
namespace {

std::string Escape(std::string_view text, std::string_view others) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (others.find(c) != others.npos) {
      escaped += "&#" + std::to_string(static_cast<int>(c)) + ";";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace

std::string HtmlText(std::string_view text) { return Escape(Printable(text), "\"'"); }

std::string MarkdownCode(std::string_view text) {
  std::string shown = Printable(text);
  if (shown.size() > kMaxMarkdownText) {
    shown.resize(ValidUtf8Prefix(std::string_view(shown).substr(0, kMaxMarkdownText)));
    shown += "…";
  }
  if (shown.empty()) return "";
  // A backtick would end the span, a bar the cell, and spaces at the ends are dropped; inside
  // <code> all that could be markup is an entity, which never is.
  const bool plain =
      shown.find_first_of("`|\\") == shown.npos && shown.front() != ' ' && shown.back() != ' ';
  if (plain) return "`" + shown + "`";
  return "<code>" + Escape(shown, "`|\\*_[]()#!~@:\"'$-+.={}") + "</code>";
}

}  // namespace kernelmap
