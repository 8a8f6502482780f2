#include "compiler/diff/diff.h"

#include <algorithm>

namespace kernelmap {

std::string_view ChangeKindName(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kChanged:
      return "changed";
    case ChangeKind::kAdded:
      return "added";
    case ChangeKind::kRemoved:
      return "removed";
  }
  return "";
}

bool Diff::Different() const {
  return !trust.empty() || !settings.empty() ||
         std::any_of(targets.begin(), targets.end(), [](const TargetDiff& target) {
           return !target.changes.empty() || !target.names.empty() || !target.sites.empty();
         });
}

bool Diff::NewFallback() const {
  const auto fallback = [](const Change& change) { return change.new_fallback; };
  return std::any_of(targets.begin(), targets.end(), [&](const TargetDiff& target) {
    return std::any_of(target.names.begin(), target.names.end(), fallback) ||
           std::any_of(target.sites.begin(), target.sites.end(), fallback);
  });
}

bool Diff::TrustWidened() const {
  return std::any_of(trust.begin(), trust.end(), [](const TrustChange& change) {
    return change.direction != TrustDirection::kNarrowed;
  });
}

}  // namespace kernelmap
