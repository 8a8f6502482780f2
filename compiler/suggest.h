// "did you mean": the word of a list that a mistyped one is nearest to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kernelmap {

/// Insertions, deletions, replacements and swaps of neighbours that turn one into the other. May
/// stop at `limit`: a distance of so much or more counts as far.
size_t EditDistance(std::string_view a, std::string_view b, size_t limit = -1);

/// The nearest of `words` when it is near enough to be meant (a third of the length may differ,
/// and letters' case counts for nothing); else empty. Of equally near ones the first.
std::string Nearest(std::string_view text, const std::vector<std::string>& words);

/// "did you mean `x`?", or nothing when no word is near.
std::string DidYouMean(std::string_view text, const std::vector<std::string>& words);

/// The same, and without a near word what there is: "one of `a`, `b`, `c`".
std::string DidYouMeanOneOf(std::string_view text, const std::vector<std::string>& words);

}  // namespace kernelmap
