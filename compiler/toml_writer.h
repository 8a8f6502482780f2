// Documents as TOML, for configs that kernelmap writes.
#pragma once

#include <string>
#include <string_view>

#include "compiler/document.h"

namespace kernelmap {

/// A key: bare where it may be, else quoted.
std::string TomlKey(std::string_view key);

/// A string with its quotes. Valid UTF-8 in, one line out.
std::string TomlString(std::string_view text);

/// A value in one line. A list of a reference and its metadata becomes a table with `kernel`, which
/// means the same. Null has no form in TOML; configs have none.
std::string TomlValue(const Node& node);

/// A config as TOML that means the same, settings first and tables in the order of the language's
/// page. The pairs that Python writes become tables of `kernel_mapping` and `[[fusion]]`. `root` is
/// the config's document, in which binding found no errors.
std::string ConfigToToml(const Node& root);

}  // namespace kernelmap
