#pragma once

#include <string>
#include <string_view>

namespace kernelmap {

/// The SHA-256 of `bytes` in lower-case hexadecimal.
std::string Sha256(std::string_view bytes);

}  // namespace kernelmap
