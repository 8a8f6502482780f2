// A state in a few words.
#pragma once

#include <string>
#include <utility>

#include "compiler/diff/diff.h"

namespace kernelmap {

/// What a change was and is: "replaced by builtin:rms_norm", "fallback [no_variant]", with the
/// details that changed. Where only details did, the second is those alone. Either is empty where
/// there was, or is, nothing.
std::pair<std::string, std::string> ChangeTexts(const Change& change, bool site);

}  // namespace kernelmap
