#include "compiler/suggest.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "compiler/lower.h"

namespace kernelmap {
namespace {

constexpr size_t kLongest = 64;  // longer words are nobody's typing mistake

// The characters of a text, as bits; several share a bit.
uint64_t Characters(std::string_view text) {
  uint64_t bits = 0;
  for (const char c : text) bits |= uint64_t{1} << (static_cast<unsigned char>(Lower(c)) & 63);
  return bits;
}

// Each edit brings in or takes out at most one character, and the lengths differ by their number.
size_t LeastDistance(std::string_view a, uint64_t a_characters, std::string_view b) {
  const uint64_t b_characters = Characters(b);
  const size_t lengths = a.size() < b.size() ? b.size() - a.size() : a.size() - b.size();
  const int more = std::max(std::popcount(a_characters & ~b_characters),
                            std::popcount(b_characters & ~a_characters));
  return std::max(lengths, static_cast<size_t>(more));
}

}  // namespace

size_t EditDistance(std::string_view a, std::string_view b, size_t limit) {
  thread_local std::vector<size_t> before, last, now;  // kept, for there can be many words
  for (std::vector<size_t>* row : {&before, &last, &now}) row->assign(b.size() + 1, 0);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  size_t last_least = 0;
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    size_t least = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        now[j] = std::min(now[j], before[j - 2] + 1);
      }
      least = std::min(least, now[j]);
    }
    // Each later row grows from these two.
    if (std::min(least, last_least) >= limit) return limit;
    last_least = least;
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

std::string Nearest(std::string_view text, const std::vector<std::string>& words) {
  if (text.empty() || text.size() > kLongest) return "";
  const std::string lower = Lower(text);
  const uint64_t characters = Characters(text);
  std::string nearest;
  size_t best = std::max<size_t>(1, text.size() / 3) + 1;
  for (const std::string& word : words) {
    if (LeastDistance(text, characters, word) >= best) continue;
    const size_t distance = EditDistance(lower, Lower(word), best);
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
