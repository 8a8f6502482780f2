// Filling `{}` and `{word}` placeholders in a message. The words are for titles alone: arguments
// fill placeholders in their order.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kernelmap {

/// Replaces each placeholder of `pattern` by the next of `args`. The numbers of both agree
/// (diagnostics check that when they are compiled).
std::string FormatText(std::string_view pattern, const std::vector<std::string>& args);

/// The pattern without arguments: `{}` becomes "…", `{word}` becomes "WORD".
std::string FormatTitle(std::string_view pattern);

}  // namespace kernelmap
