// Patterns of module paths: segments joined by dots, where a `*` ends a segment and stands for what
// is left of exactly that one. `layers.*.mlp`, `layer_*.norm`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kernelmap {

/// Whether `path` is what one pattern says.
bool PathMatchesPattern(std::string_view path, std::string_view pattern);

/// Whether `path` matches one of the patterns after `root` is put before each.
bool PathMatches(std::string_view path, std::string_view root,
                 const std::vector<std::string>& patterns);

/// What stands before the last dot, and after it; before is empty when there is no dot.
std::string_view ParentOf(std::string_view path);
std::string_view LastOf(std::string_view path);

/// Whether some path matches both patterns.
bool PatternsMeet(std::string_view a, std::string_view b);

/// Whether every path that matches `inner` matches `outer` too.
bool PatternCovers(std::string_view outer, std::string_view inner);

}  // namespace kernelmap
