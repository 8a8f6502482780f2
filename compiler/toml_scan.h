// What is known of a TOML text from its lexical structure alone: strings, comments, brackets, and
// where keys are. Where a text is not TOML these may lose their way, but toml++ stops at that very
// place.
#pragma once

#include <optional>
#include <string_view>

#include "compiler/diagnostics.h"
#include "compiler/source.h"

namespace kernelmap {

/// Bounds the depth of dotted keys and the number of tables and keys, and reports what is beyond:
/// toml++ recurses into nested values and looks through its tables in order. (Nested brackets it
/// bounds itself, at 256.)
bool TomlWithinLimits(std::string_view text, Diagnostics* diagnostics);

/// The key that a problem at `offset` is about: of the header that begins there, of the value that
/// begins there, or the key itself. As written, without brackets.
std::optional<Span> TomlKeyAt(std::string_view text, size_t offset);

}  // namespace kernelmap
