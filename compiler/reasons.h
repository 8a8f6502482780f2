// The reasons of reasons.def by their codes.
#pragma once

#include <string_view>
#include <vector>

namespace kernelmap {

struct ReasonKind {
  std::string_view code;         // "different_code"
  std::string_view text;         // one line, for reports
  std::string_view explanation;  // for `kernelmap explain`
  bool of_model = false;         // only a model's code gives it
};

/// Of every reason, in the order of reasons.def.
const std::vector<ReasonKind>& ReasonKinds();

/// Null for a word that is none.
const ReasonKind* FindReason(std::string_view code);

/// The one-line text of a code; empty for a word that is none.
std::string_view ReasonText(std::string_view code);

}  // namespace kernelmap
