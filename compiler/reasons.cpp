#include "compiler/reasons.h"

namespace kernelmap {

const std::vector<ReasonKind>& ReasonKinds() {
  static const std::vector<ReasonKind> kinds = {
#define KM_REASON(code, text, explanation) {#code, text, explanation},
#include "compiler/reasons.def"
  };
  return kinds;
}

std::string_view ReasonText(std::string_view code) {
  for (const ReasonKind& kind : ReasonKinds()) {
    if (kind.code == code) return kind.text;
  }
  return "";
}

}  // namespace kernelmap
