#include <map>
#include <string>

#include "compiler/check.h"
#include "compiler/path_pattern.h"

namespace kernelmap {
namespace {

bool ShareParent(std::string_view a, std::string_view b) {
  const std::string_view x = ParentOf(a), y = ParentOf(b);
  return x.empty() || y.empty() ? x.empty() && y.empty() : PatternsMeet(x, y);
}

void CheckPatterns(const Fusion& fusion, Diagnostics* diagnostics) {
  for (size_t i = 1; i < fusion.parts.size(); ++i) {
    const FusionPart& part = fusion.parts[i];
    for (size_t j = 0; j < i; ++j) {
      const FusionPart& other = fusion.parts[j];
      if (!ShareParent(part.pattern.text, other.pattern.text)) {
        diagnostics
            ->Report<Diag::NoCommonParent>(part.pattern.span, other.pattern.text, part.pattern.text)
            .Note(other.pattern.span, "the other")
            .Help("what stands before the last dot must be the same for all modules of a fusion");
        return;
      }
      if (LastOf(part.pattern.text) == LastOf(other.pattern.text) &&
          part.pattern.text.find('*', part.pattern.text.size() -
                                          LastOf(part.pattern.text).size()) == std::string::npos) {
        diagnostics
            ->Report<Diag::SameModule>(part.pattern.span, other.pattern.text, part.pattern.text)
            .Note(other.pattern.span, "the other");
        return;
      }
    }
  }
}

}  // namespace

void CheckFusions(const Config& config, Diagnostics* diagnostics) {
  std::map<std::string, const Fusion*> seen;
  for (const Fusion& fusion : config.fusions) {
    CheckPatterns(fusion, diagnostics);
    std::string key;
    for (const FusionPart& part : fusion.parts) key += part.name + "\n" + part.pattern.text + "\n";
    const auto [first, added] = seen.try_emplace(std::move(key), &fusion);
    if (added || fusion.parts.empty()) continue;
    diagnostics->Report<Diag::DuplicateFusion>(fusion.mapping.span)
        .Note(first->second->mapping.span, "first here");
  }
}

}  // namespace kernelmap
