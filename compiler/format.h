// Filling `{}` placeholders in a message.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kernelmap {

/// Replaces each `{}` of `pattern` by the next of `args`. The numbers of both agree (diagnostics
/// check that when they are compiled).
std::string FormatText(std::string_view pattern, const std::vector<std::string>& args);

}  // namespace kernelmap
