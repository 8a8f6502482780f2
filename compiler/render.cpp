// Diagnostics as people and programs read them.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include "compiler/diagnostics.h"
#include "compiler/json_writer.h"

namespace kernelmap {
namespace {

constexpr size_t kTabWidth = 4;
constexpr size_t kMaxColumns = 160;  // of a source line that is shown

struct Range {
  char32_t first, last;
};

// East Asian wide and fullwidth characters and emoji; the ranges are coarse on purpose.
constexpr std::array<Range, 14> kWide = {{{0x1100, 0x115F},
                                          {0x231A, 0x231B},
                                          {0x2E80, 0x303E},
                                          {0x3041, 0x33FF},
                                          {0x3400, 0x4DBF},
                                          {0x4E00, 0x9FFF},
                                          {0xA000, 0xA4CF},
                                          {0xAC00, 0xD7A3},
                                          {0xF900, 0xFAFF},
                                          {0xFE30, 0xFE6F},
                                          {0xFF00, 0xFF60},
                                          {0xFFE0, 0xFFE6},
                                          {0x1F300, 0x1FAFF},
                                          {0x20000, 0x3FFFD}}};
// Combining marks and other characters that take no room.
constexpr std::array<Range, 7> kNoWidth = {{{0x0300, 0x036F},
                                            {0x0483, 0x0489},
                                            {0x1AB0, 0x1AFF},
                                            {0x1DC0, 0x1DFF},
                                            {0x200B, 0x200F},
                                            {0x20D0, 0x20FF},
                                            {0xFE00, 0xFE0F}}};

template <size_t N>
bool In(char32_t c, const std::array<Range, N>& ranges) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [c](const Range& range) { return range.first <= c && c <= range.last; });
}

// A character as a terminal shows it. What could steer the terminal is shown as U+FFFD.
struct Cell {
  std::string text;
  size_t width = 1;
  size_t bytes = 1;  // of the source
};

Cell NextCell(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const Cell replacement{"\xEF\xBF\xBD", 1, 1};
  if (text[0] == '\t') return {std::string(kTabWidth, ' '), kTabWidth, 1};
  if (byte(0) < 0x20 || byte(0) == 0x7F) return replacement;
  if (byte(0) < 0x80) return {std::string(text.substr(0, 1)), 1, 1};
  const size_t length = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (ValidUtf8Prefix(text.substr(0, length)) != length) return replacement;
  char32_t c = byte(0) & (0xFF >> (length + 1));
  for (size_t i = 1; i < length; ++i) c = (c << 6) | (byte(i) & 0x3F);
  const bool steering =
      (c >= 0x80 && c < 0xA0) || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  if (steering) return {replacement.text, 1, length};
  const size_t width = In(c, kNoWidth) ? 0 : In(c, kWide) ? 2 : 1;
  return {std::string(text.substr(0, length)), width, length};
}

std::string Printable(std::string_view text) {
  std::string printable;
  while (!text.empty()) {
    const Cell cell = NextCell(text);
    printable += cell.text;
    text.remove_prefix(cell.bytes);
  }
  return printable;
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
    const LineColumn at = source.Locate(span.begin);
    const size_t line_begin = source.Offset({at.line, 1});
    std::string_view line = source.Line(at.line);
    const size_t from = std::min(span.begin - line_begin, line.size());
    const size_t to = std::clamp(span.end - line_begin, from, line.size());
    // Of a long line, the part around the span.
    size_t skip = 0;
    if (line.size() > kMaxColumns && from > kMaxColumns / 2) {
      skip = from - kMaxColumns / 2;
      while ((static_cast<unsigned char>(line[skip]) & 0xC0) == 0x80) --skip;
    }
    std::string shown = skip ? "…" : "";
    size_t column = skip ? 1 : 0, begin = column, end = column;
    for (size_t i = skip; i < line.size();) {
      if (column >= kMaxColumns) {
        shown += "…";
        break;
      }
      const Cell cell = NextCell(line.substr(i));
      if (i < from) begin = column + cell.width;
      if (i < to) end = column + cell.width;
      shown += cell.text;
      column += cell.width;
      i += cell.bytes;
    }
    char number[32];
    std::snprintf(number, sizeof number, "%4d | ", at.line);
    const size_t gutter = std::string_view(number).size() - 3;
    std::string first = number + shown;
    first.erase(first.find_last_not_of(' ') + 1);
    out_ += first + "\n" + std::string(gutter, ' ') + " | " + std::string(begin, ' ') +
            Paint(style, std::string(std::max<size_t>(1, end > begin ? end - begin : 0), mark)) +
            (text.empty() ? "" : " " + Printable(text)) + "\n";
  }

  bool color_;
  std::string out_;
};

void WriteSpan(const Source& source, Span span, JsonWriter* json) {
  const LineColumn begin = source.Locate(span.begin), end = source.Locate(span.end);
  json->Key("line").Integer(begin.line);
  json->Key("column").Integer(begin.column);
  json->Key("end_line").Integer(end.line);
  json->Key("end_column").Integer(end.column);
}

}  // namespace

std::string DiagnosticsToText(const std::vector<Diagnostic>& list, bool color) {
  std::string text;
  for (const Diagnostic& diagnostic : list) text += TextRenderer(color).Render(diagnostic);
  return text;
}

std::string DiagnosticsToJson(const std::vector<Diagnostic>& list) {
  int64_t errors = 0;
  JsonWriter json;
  json.BeginObject();
  json.Key("format").String("kernelmap-check/1");
  json.Key("diagnostics").BeginArray();
  for (const Diagnostic& diagnostic : list) {
    const Source& source = *diagnostic.source;
    const bool error = diagnostic.kind->severity == Severity::kError;
    errors += error;
    json.BeginObject();
    json.Key("code").String(diagnostic.kind->code);
    json.Key("severity").String(error ? "error" : "warning");
    json.Key("message").String(diagnostic.message);
    json.Key("file").String(source.BaseName());
    WriteSpan(source, diagnostic.span, &json);
    json.Key("labels").BeginArray();
    for (const Label& label : diagnostic.labels) {
      json.BeginObject();
      WriteSpan(source, label.span, &json);
      json.Key("message").String(label.text);
      json.EndObject();
    }
    json.EndArray();
    json.Key("help").Strings(diagnostic.help);
    json.EndObject();
  }
  json.EndArray();
  json.Key("summary").BeginObject();
  json.Key("errors").Integer(errors);
  json.Key("warnings").Integer(static_cast<int64_t>(list.size()) - errors);
  json.EndObject();
  json.EndObject();
  return std::move(json).Finish();
}

}  // namespace kernelmap
