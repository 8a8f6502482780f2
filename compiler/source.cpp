#include "compiler/source.h"

#include <algorithm>
#include <utility>

namespace kernelmap {
namespace {

constexpr size_t kBlock = 64;  // bytes

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The length of the valid sequence at the front of `text`, 0 when it is not valid.
size_t SequenceLength(std::string_view text) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  size_t length = 0;
  unsigned low = 0x80, high = 0xBF;  // bounds of the second byte
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  } else {
    return 0;
  }
  if (text.size() < length || byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if (!IsContinuation(text[i])) return 0;
  }
  return length;
}

}  // namespace

Source::Source(std::string name, std::string text)
    : name_(std::move(name)), text_(std::move(text)), line_starts_{0} {
  for (size_t i = text_.find('\n'); i != std::string::npos; i = text_.find('\n', i + 1)) {
    line_starts_.push_back(i + 1);
  }
  const bool ascii = std::all_of(text_.begin(), text_.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (ascii) return;
  size_t count = 0;
  for (size_t i = 0; i < text_.size(); ++i) {
    if (i % kBlock == 0) code_points_.push_back(count);
    if (!IsContinuation(text_[i])) ++count;
  }
}

size_t Source::CodePointsBefore(size_t offset) const {
  if (code_points_.empty()) return std::min(offset, text_.size());
  const size_t block = std::min(offset / kBlock, code_points_.size() - 1);
  size_t count = code_points_[block];
  for (size_t i = block * kBlock; i < offset; ++i) {
    if (!IsContinuation(text_[i])) ++count;
  }
  return count;
}

size_t Source::ByteOfCodePoint(size_t index) const {
  if (code_points_.empty()) return std::min(index, text_.size());
  const auto after = std::upper_bound(code_points_.begin(), code_points_.end(), index);
  const size_t block = static_cast<size_t>(after - code_points_.begin()) - 1;
  size_t count = code_points_[block];
  for (size_t i = block * kBlock; i < text_.size(); ++i) {
    if (!IsContinuation(text_[i]) && count++ == index) return i;
  }
  return text_.size();
}

std::string Source::BaseName() const {
  const size_t slash = name_.find_last_of('/');
  return slash == std::string::npos ? name_ : name_.substr(slash + 1);
}

std::string_view Source::Slice(Span span) const {
  const size_t begin = std::min(span.begin, text_.size());
  const size_t end = std::clamp(span.end, begin, text_.size());
  return std::string_view(text_).substr(begin, end - begin);
}

LineColumn Source::Locate(size_t offset) const {
  offset = std::min(offset, text_.size());
  const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  const size_t start = *(next - 1);
  return {static_cast<int>(next - line_starts_.begin()),
          static_cast<int>(CodePointsBefore(offset) - CodePointsBefore(start)) + 1};
}

size_t Source::Offset(LineColumn place) const {
  if (place.line < 1) return 0;
  if (static_cast<size_t>(place.line) > line_starts_.size()) return text_.size();
  const size_t start = line_starts_[place.line - 1];
  const bool last = static_cast<size_t>(place.line) == line_starts_.size();
  const size_t end = last ? text_.size() : line_starts_[place.line] - 1;
  const size_t column = static_cast<size_t>(std::max(place.column, 1));
  return std::min(ByteOfCodePoint(CodePointsBefore(start) + column - 1), end);
}

std::string_view Source::Line(int line) const {
  if (line < 1 || static_cast<size_t>(line) > line_starts_.size()) return {};
  const size_t begin = line_starts_[line - 1];
  size_t end =
      static_cast<size_t>(line) < line_starts_.size() ? line_starts_[line] - 1 : text_.size();
  if (end > begin && text_[end - 1] == '\r') --end;
  return std::string_view(text_).substr(begin, end - begin);
}

size_t ValidUtf8Prefix(std::string_view text) {
  size_t offset = 0;
  while (offset < text.size()) {
    const size_t length = SequenceLength(text.substr(offset));
    if (length == 0) break;
    offset += length;
  }
  return offset;
}

}  // namespace kernelmap
