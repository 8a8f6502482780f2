// The layout of a TOML text, with its comments. Works on the text itself: strings, numbers, keys
// and comments stay as they are written, in their order; white space, commas and line ends between
// them are made anew.
#pragma once

#include <string>
#include <string_view>

#include "compiler/document.h"

namespace kernelmap {

/// Lines that are longer are broken at the items of a list.
inline constexpr size_t kFormatWidth = 100;

/// `text` must be TOML that ReadToml takes. The result of the result is the same again.
///   key = value; one empty line before a table and the comments right above it, elsewhere at most
///   one; a list on one line stays there unless it is too long, one on several gets a line an item;
///   comments behind two spaces; no white space at line ends; one LF at each, none before the
///   first.
std::string FormatToml(std::string_view text);

/// Whether two documents of texts hold the same in the same order. Places do not count.
bool SameDocument(const Node& a, std::string_view a_text, const Node& b, std::string_view b_text);

/// The comments of a text, in order, without white space at their ends.
std::string TomlComments(std::string_view text);

}  // namespace kernelmap
