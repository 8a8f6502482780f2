#include "compiler/reasons.h"

namespace kernelmap {

namespace {
constexpr bool kPlan = false, kModel = true;
}  // namespace

const std::vector<ReasonKind>& ReasonKinds() {
  static const std::vector<ReasonKind> kinds = {
#define KM_REASON(code, of, text, explanation) {#code, text, explanation, of},
#include "compiler/reasons.def"
  };
  return kinds;
}

const ReasonKind* FindReason(std::string_view code) {
  for (const ReasonKind& kind : ReasonKinds()) {
    if (kind.code == code) return &kind;
  }
  return nullptr;
}

std::string_view ReasonText(std::string_view code) {
  const ReasonKind* kind = FindReason(code);
  return kind ? kind->text : "";
}

}  // namespace kernelmap
