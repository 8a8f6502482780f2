// The order of PEP 440's versions, and their normal form.
#include <algorithm>
#include <cctype>
#include <utility>

#include "compiler/version.h"

namespace kernelmap {
namespace {

bool IsNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::strong_ordering CompareReleases(const std::vector<Digits>& a, const std::vector<Digits>& b) {
  static const Digits zero;
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const auto order = (i < a.size() ? a[i] : zero) <=> (i < b.size() ? b[i] : zero);
    if (order != 0) return order;
  }
  return std::strong_ordering::equal;
}

// Where a version without a part stands among those that have it: `absent` is -1 or 1.
template <typename T>
std::strong_ordering CompareParts(const std::optional<T>& a, int absent_a,
                                  const std::optional<T>& b, int absent_b) {
  if (a && b) return *a <=> *b;
  return (a ? 0 : absent_a) <=> (b ? 0 : absent_b);
}

// A development release without more comes before all pre-releases, a final one after them.
int AbsentPre(const Version& version) { return !version.post && version.dev ? -1 : 1; }

// Numbers come after words.
std::strong_ordering CompareSegments(const std::string& a, const std::string& b) {
  const bool number_a = IsNumber(a), number_b = IsNumber(b);
  if (number_a != number_b) return number_a <=> number_b;
  if (number_a && a.size() != b.size()) return a.size() <=> b.size();
  return a <=> b;
}

}  // namespace

Digits Digits::Of(std::string_view digits) {
  const size_t zeros = std::min(digits.find_first_not_of('0'), digits.size());
  digits.remove_prefix(zeros);
  return digits.empty() ? Digits{} : Digits{std::string(digits)};
}

Digits Digits::Next() const {
  Digits next = *this;
  for (size_t i = next.text.size(); i-- > 0;) {
    if (next.text[i] != '9') {
      ++next.text[i];
      return next;
    }
    next.text[i] = '0';
  }
  next.text.insert(next.text.begin(), '1');
  return next;
}

std::strong_ordering Digits::operator<=>(const Digits& other) const {
  if (text.size() != other.text.size()) return text.size() <=> other.text.size();
  return text <=> other.text;
}

std::string Version::Text() const {
  std::string text = epoch == Digits{} ? "" : epoch.text + "!";
  for (size_t i = 0; i < release.size(); ++i) text += (i > 0 ? "." : "") + release[i].text;
  static constexpr std::string_view kKinds[] = {"a", "b", "rc"};
  if (pre) text += std::string(kKinds[pre->kind]) + pre->number.text;
  if (post) text += ".post" + post->text;
  if (dev) text += ".dev" + dev->text;
  for (size_t i = 0; i < local.size(); ++i) text += (i > 0 ? "." : "+") + local[i];
  return text;
}

std::strong_ordering Version::operator<=>(const Version& other) const {
  if (const auto order = epoch <=> other.epoch; order != 0) return order;
  if (const auto order = CompareReleases(release, other.release); order != 0) return order;
  if (const auto order = CompareParts(pre, AbsentPre(*this), other.pre, AbsentPre(other));
      order != 0) {
    return order;
  }
  if (const auto order = CompareParts(post, -1, other.post, -1); order != 0) return order;
  if (const auto order = CompareParts(dev, 1, other.dev, 1); order != 0) return order;
  return std::lexicographical_compare_three_way(local.begin(), local.end(), other.local.begin(),
                                                other.local.end(), CompareSegments);
}

}  // namespace kernelmap
