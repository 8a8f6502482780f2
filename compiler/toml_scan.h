// What is known of a TOML text from its lexical structure alone: strings, comments, brackets, and
// where keys are. Where a text is not TOML these may lose their way, but toml++ stops at that very
// place.
#pragma once

#include <optional>
#include <string_view>

#include "compiler/diagnostics.h"
#include "compiler/source.h"

namespace kernelmap {

/// Bounds the depth, the number of values and that of dots in keys, and reports what is beyond:
/// toml++ recurses into what is nested, and looks each part of a dotted key up in a list of all
/// tables that dotted keys made.
bool TomlWithinLimits(std::string_view text, Diagnostics* diagnostics);

/// The place after the string that begins at `at`; of one that does not end, its line's or the
/// text's end.
size_t TomlAfterString(std::string_view text, size_t at);

/// The key that a problem at `offset` is about: of the header that begins there, of the value that
/// begins there, or the key itself. As written, without brackets.
std::optional<Span> TomlKeyAt(std::string_view text, size_t offset);

}  // namespace kernelmap
