// A text that something was read from, and places in it. A span is two byte offsets; lines and
// columns exist only here and in the renderers, which ask for them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kernelmap {

/// Bytes [begin, end) of a Source.
struct Span {
  size_t begin = 0;
  size_t end = 0;
  friend auto operator<=>(const Span&, const Span&) = default;
};

/// Both count from 1; columns count code points.
struct LineColumn {
  int line = 1;
  int column = 1;
};

class Source {
 public:
  /// `name` is how messages call the file; `text` is UTF-8 (the readers check it) without a byte
  /// order mark.
  Source(std::string name, std::string text);

  const std::string& name() const { return name_; }
  /// Last component of the name: what plans and reports carry.
  std::string BaseName() const;
  std::string_view text() const { return text_; }
  std::string_view Slice(Span span) const;

  /// Offsets past the end stand for the end.
  LineColumn Locate(size_t offset) const;
  /// The offset of a line and column; past the end of the line or text, that end.
  size_t Offset(LineColumn place) const;
  /// Line `line` (from 1) without its end ("\n" or "\r\n"); empty when there is none.
  std::string_view Line(int line) const;

 private:
  std::string name_;
  std::string text_;
  /// The code points before a byte.
  size_t CodePointsBefore(size_t offset) const;
  /// The byte where a code point starts; the size of the text past the last.
  size_t ByteOfCodePoint(size_t index) const;

  std::vector<size_t> line_starts_;
  // Before each block of bytes, so that long lines cost little; empty where all is ASCII.
  std::vector<size_t> code_points_;
};

/// The number of bytes of `text` before its first byte that is not valid UTF-8; its size when it
/// is all valid. Surrogates, overlong forms and code points past U+10FFFF are invalid.
size_t ValidUtf8Prefix(std::string_view text);

}  // namespace kernelmap
