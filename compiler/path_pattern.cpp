#include "compiler/path_pattern.h"

#include <algorithm>

namespace kernelmap {
namespace {

// A pattern's segment: its text before the star, and whether there is one.
struct Segment {
  std::string_view prefix;
  bool star = false;
};

Segment Read(std::string_view text) {
  const size_t star = text.find('*');
  return {text.substr(0, star), star != std::string_view::npos};
}

bool Covers(const Segment& outer, const Segment& inner) {
  if (outer.star) return inner.prefix.starts_with(outer.prefix);
  return !inner.star && inner.prefix == outer.prefix;
}

bool Meet(const Segment& a, const Segment& b) {
  return Covers(a, b) || Covers(b, a);  // a prefix of the other, or the same
}

// Whether both have as many segments, and `fits` holds for each pair of them.
template <typename Fits>
bool Pairwise(std::string_view a, std::string_view b, Fits fits) {
  while (true) {
    const size_t a_dot = a.find('.'), b_dot = b.find('.');
    if (!fits(a.substr(0, a_dot), b.substr(0, b_dot))) return false;
    const bool a_ends = a_dot == std::string_view::npos, b_ends = b_dot == std::string_view::npos;
    if (a_ends || b_ends) return a_ends && b_ends;
    a.remove_prefix(a_dot + 1);
    b.remove_prefix(b_dot + 1);
  }
}

}  // namespace

bool PathMatchesPattern(std::string_view path, std::string_view pattern) {
  return Pairwise(path, pattern, [](std::string_view segment, std::string_view text) {
    return Covers(Read(text), {segment, false});
  });
}

bool PathMatches(std::string_view path, std::string_view root,
                 const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return PathMatchesPattern(path, root.empty() ? pattern : std::string(root) + "." + pattern);
  });
}

std::string_view ParentOf(std::string_view path) {
  const size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

std::string_view LastOf(std::string_view path) {
  const size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

bool PatternsMeet(std::string_view a, std::string_view b) {
  return Pairwise(a, b,
                  [](std::string_view x, std::string_view y) { return Meet(Read(x), Read(y)); });
}

bool PatternCovers(std::string_view outer, std::string_view inner) {
  return Pairwise(outer, inner,
                  [](std::string_view x, std::string_view y) { return Covers(Read(x), Read(y)); });
}

}  // namespace kernelmap
