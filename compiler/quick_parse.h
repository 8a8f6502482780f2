// Plainly right texts of the small languages, recognised without ANTLR: a config of ten thousand
// entries has several times as many, and ANTLR takes longer for one than everything else together.
#pragma once

#include <optional>
#include <string_view>

#include "compiler/antlr_parse.h"

namespace kernelmap {

/// What ANTLR would make of `text`, of the pieces only those that languages.cpp reads; nothing
/// where the text is not one of the common right forms, so that ANTLR has to look at it. Never
/// errors. Tests hold it against ANTLR.
std::optional<ParseResult> QuickParse(Rule rule, std::string_view text);

}  // namespace kernelmap
