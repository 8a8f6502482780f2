// Diagnostics as people read them.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "compiler/diagnostics.h"
#include "compiler/display.h"

namespace kernelmap {
namespace {

constexpr size_t kMaxWhole = 120;      // columns of a line that is shown whole
constexpr size_t kMaxColumns = 100;    // shown of a longer line
constexpr size_t kColumnsBefore = 40;  // of those, before the span
constexpr size_t kMaxBytes = 1024;     // looked at on either side of where a span begins

struct PlacedCell {
  Cell cell;
  size_t byte = 0;    // within the line
  size_t column = 0;  // within what was looked at
};

// The part of a line around a span, and where in it the span is.
struct LinePart {
  std::string text;
  size_t begin = 0, end = 0;  // columns of the span
};

LinePart PartOf(std::string_view line, size_t from, size_t to) {
  const auto continues = [&](size_t at) {
    return at < line.size() && (static_cast<unsigned char>(line[at]) & 0xC0) == 0x80;
  };
  size_t low = from > kMaxBytes ? from - kMaxBytes : 0;
  while (low > 0 && continues(low)) --low;
  const size_t high = std::min(line.size(), from + kMaxBytes);
  std::vector<PlacedCell> cells;
  size_t width = 0, begin = 0, end = 0;
  for (size_t at = low; at < high;) {
    cells.push_back({NextCell(line.substr(at)), at, width});
    const Cell& cell = cells.back().cell;
    at += cell.bytes;
    if (at <= from) begin = width + cell.width;
    width += cell.width;
    if (cells.back().byte < to) end = width;
  }
  end = std::max(end, begin);
  // Which columns are shown: all, or as many as fit, with some before the span.
  size_t left = 0, right = width;
  if (width > kMaxWhole) {
    left = begin > kColumnsBefore ? begin - kColumnsBefore : 0;
    right = std::min(width, left + kMaxColumns);
    left = std::min(left, right - kMaxColumns);
  }
  LinePart part;
  size_t first = width;  // column of the first cell that is shown
  for (const PlacedCell& placed : cells) {
    if (placed.column < left) continue;
    if (placed.column + placed.cell.width > right) {
      right = placed.column;
      break;
    }
    first = std::min(first, placed.column);
    part.text += placed.cell.text;
  }
  const bool cut_left = low > 0 || first > 0, cut_right = high < line.size() || right < width;
  if (part.text.empty()) first = 0;
  const size_t shift = cut_left && !part.text.empty() ? 1 : 0;
  if (shift) part.text = "…" + part.text;
  if (cut_right) part.text += "…";
  part.begin = std::max(begin, first) - first + shift;
  part.end = std::max(std::min(end, right), first) - first + shift;
  return part;
}

class TextRenderer {
 public:
  explicit TextRenderer(bool color) : color_(color) {}

  std::string Render(const Diagnostic& diagnostic) {
    const Source& source = *diagnostic.source;
    const LineColumn at = source.Locate(diagnostic.span.begin);
    const bool error = diagnostic.kind->severity == Severity::kError;
    out_ = Paint(kBold, Printable(source.name()) + ":" + std::to_string(at.line) + ":" +
                            std::to_string(at.column) + ":") +
           " " +
           Paint(error ? kRed : kYellow, std::string(error ? "error" : "warning") + "[" +
                                             std::string(diagnostic.kind->code) + "]:") +
           " " + Printable(diagnostic.message) + "\n";
    Excerpt(source, diagnostic.span, '^', error ? kRed : kYellow, "");
    for (const Label& label : diagnostic.labels) {
      Excerpt(source, label.span, '-', kBlue, label.text);
    }
    for (const std::string& help : diagnostic.help) {
      out_ += Paint(kGreen, "help:") + " " + Printable(help) + "\n";
    }
    return std::move(out_);
  }

 private:
  static constexpr std::string_view kBold = "1", kRed = "1;31", kYellow = "1;33", kBlue = "1;34",
                                    kGreen = "1;32";

  std::string Paint(std::string_view style, const std::string& text) const {
    if (!color_) return text;
    return "\x1b[" + std::string(style) + "m" + text + "\x1b[0m";
  }

  // The line where the span begins, with what of the span is on it underlined.
  void Excerpt(const Source& source, Span span, char mark, std::string_view style,
               const std::string& text) {
    if (source.text().empty()) return;  // nothing of the file is worth showing
    const LineColumn at = source.Locate(span.begin);
    const size_t line_begin = source.Offset({at.line, 1});
    const std::string_view line = source.Line(at.line);
    const size_t from = std::min(span.begin - line_begin, line.size());
    const size_t to = std::clamp(span.end - line_begin, from, line.size());
    const LinePart part = PartOf(line, from, to);
    char number[32];
    std::snprintf(number, sizeof number, "%4d | ", at.line);
    const size_t gutter = std::string_view(number).size() - 3;
    std::string first = number + part.text;
    first.erase(first.find_last_not_of(' ') + 1);
    const size_t marks = std::max<size_t>(1, part.end - part.begin);
    out_ += first + "\n" + std::string(gutter, ' ') + " | " + std::string(part.begin, ' ') +
            Paint(style, std::string(marks, mark)) + (text.empty() ? "" : " " + Printable(text)) +
            "\n";
  }

  bool color_;
  std::string out_;
};

}  // namespace

std::string DiagnosticsToText(const std::vector<Diagnostic>& list, bool color) {
  std::string text;
  for (const Diagnostic& diagnostic : list) text += TextRenderer(color).Render(diagnostic);
  return text;
}

}  // namespace kernelmap
