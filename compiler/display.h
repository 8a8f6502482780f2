// Text of a file as a terminal shows it: how wide its characters are, and nothing that steers it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kernelmap {

/// What stands in the place of one character for people (a grapheme cluster): a letter with its
/// accents, an emoji of several code points.
struct Cell {
  std::string text;
  size_t width = 1;  // columns: 0, 1 or 2; of a tab 4
  size_t bytes = 1;  // of the source
};

/// The cell at the front of `text`, which is not empty. A tab is spaces. Characters that are not
/// seen but change what is (controls, marks of direction, line separators) and bytes that are not
/// UTF-8 are shown as U+FFFD. A cluster of very many code points is cut.
Cell NextCell(std::string_view text);

/// All of a text, cell by cell, on one line: tabs and ends of lines are `\t`, `\r` and `\n`.
std::string Printable(std::string_view text);

/// A text of several lines, each Printable; the ends of the lines stay.
std::string PrintableLines(std::string_view text);

}  // namespace kernelmap
