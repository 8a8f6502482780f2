// Widths and clusters through utf8proc, which stops here.
#include "compiler/display.h"

#include <utf8proc.h>

#include <algorithm>

namespace kernelmap {
namespace {

constexpr size_t kTabWidth = 4;
constexpr int kMaxClusterCodePoints = 16;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

struct CodePoint {
  utf8proc_int32_t value = 0;
  size_t bytes = 0;  // 0: not UTF-8
};

CodePoint Decode(std::string_view text) {
  CodePoint c;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  const utf8proc_ssize_t length =
      utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size()), &c.value);
  c.bytes = length > 0 ? static_cast<size_t>(length) : 0;
  return c;
}

// Not seen, but changes what is.
bool Steers(utf8proc_int32_t c) {
  switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_CS:
      return true;
    default:
      return false;
  }
}

bool IsFlagLetter(utf8proc_int32_t c) { return 0x1F1E6 <= c && c <= 0x1F1FF; }

}  // namespace

Cell NextCell(std::string_view text) {
  if (text[0] == '\t') return {std::string(kTabWidth, ' '), kTabWidth, 1};
  const CodePoint first = Decode(text);
  if (first.bytes == 0) return {std::string(kReplacement), 1, 1};
  if (Steers(first.value)) return {std::string(kReplacement), 1, first.bytes};
  size_t width = static_cast<size_t>(std::max(0, utf8proc_charwidth(first.value)));
  size_t bytes = first.bytes;
  utf8proc_int32_t before = first.value, state = 0;
  for (int count = 1; count < kMaxClusterCodePoints && bytes < text.size(); ++count) {
    const CodePoint next = Decode(text.substr(bytes));
    if (next.bytes == 0 || utf8proc_grapheme_break_stateful(before, next.value, &state)) break;
    // Joiners belong to emoji and to scripts that need them; within ASCII they only hide.
    if (Steers(next.value) && first.value < 0x80) break;
    constexpr utf8proc_int32_t kEmojiForm = 0xFE0F;
    if (next.value == kEmojiForm || IsFlagLetter(next.value)) {
      width = 2;
    } else {
      width = std::max(width, static_cast<size_t>(std::max(0, utf8proc_charwidth(next.value))));
    }
    bytes += next.bytes;
    before = next.value;
  }
  return {std::string(text.substr(0, bytes)), width, bytes};
}

std::string Printable(std::string_view text) {
  std::string printable;
  while (!text.empty()) {
    Cell cell = NextCell(text);
    if (text[0] == '\t') cell.text = "\\t";
    if (text[0] == '\r') cell.text = "\\r";
    if (text[0] == '\n') cell.text = "\\n";
    printable += cell.text;
    text.remove_prefix(cell.bytes);
  }
  return printable;
}

std::string PrintableLines(std::string_view text) {
  std::string printable;
  while (true) {
    const size_t end = std::min(text.find('\n'), text.size());
    printable += Printable(text.substr(0, end));
    if (end == text.size()) return printable;
    printable += '\n';
    text.remove_prefix(end + 1);
  }
}

}  // namespace kernelmap
