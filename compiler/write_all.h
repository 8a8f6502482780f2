// Writing to a descriptor.
#pragma once

#include <string_view>

namespace kernelmap {

/// Writes all of a text, however often it takes; false, and errno, where that fails.
bool WriteAll(int descriptor, std::string_view text);

}  // namespace kernelmap
