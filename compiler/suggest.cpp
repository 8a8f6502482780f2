#include "compiler/suggest.h"

#include <algorithm>
#include <cctype>

namespace kernelmap {
namespace {

constexpr size_t kLongest = 64;  // longer words are nobody's typing mistake

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

}  // namespace

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        now[j] = std::min(now[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

std::string Nearest(std::string_view text, const std::vector<std::string>& words) {
  if (text.empty() || text.size() > kLongest) return "";
  const std::string lower = Lower(text);
  std::string nearest;
  size_t best = std::max<size_t>(1, text.size() / 3) + 1;
  for (const std::string& word : words) {
    const size_t distance = EditDistance(lower, Lower(word));
    if (distance < best && distance < word.size()) {
      best = distance;
      nearest = word;
    }
  }
  return nearest;
}

std::string DidYouMean(std::string_view text, const std::vector<std::string>& words) {
  const std::string nearest = Nearest(text, words);
  return nearest.empty() ? "" : "did you mean `" + nearest + "`?";
}

std::string DidYouMeanOneOf(std::string_view text, const std::vector<std::string>& words) {
  if (std::string help = DidYouMean(text, words); !help.empty()) return help;
  std::string help = "one of ";
  for (const std::string& word : words) {
    if (&word != &words.front()) help += ", ";
    help += "`" + word + "`";
  }
  return help;
}

}  // namespace kernelmap
