// Which path patterns match modules of a model, asked of an index of its paths: many patterns over
// many modules cost what differs between the modules, not their product. Layers that look alike
// are one entry.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/archive/module_tree.h"

namespace kernelmap {

/// Keeps references into `tree`, which must outlive it.
class PathIndex {
 public:
  explicit PathIndex(const ModuleTree& tree);

  /// Whether the pattern (with the root before it) matches a module. What lies below a module whose
  /// children are not known counts as a match.
  bool Matches(std::string_view pattern) const;

  /// The path of a module below which the pattern matches: of several that with the fewest
  /// segments, then the first by name. "" is the root. Nothing when there is none, or when the
  /// model has very many kinds of modules.
  std::optional<std::string> MatchesBelow(std::string_view pattern) const;

  /// Of a pattern that does not match: its longest prefix that does, and the names that modules
  /// have next, sorted.
  struct Miss {
    size_t begin = 0, end = 0;  // of the segment behind that prefix, within the pattern
    std::vector<std::string> names;
  };
  Miss FirstMiss(std::string_view pattern) const;

 private:
  // Modules with equal names and kinds below them.
  struct Kind {
    std::map<std::string_view, int> children;
    bool opaque = false;
    std::string_view first;  // path of the first module of the kind
  };

  // Sorted: the kinds below `kinds` that a segment of a pattern matches.
  std::vector<int> Step(const std::vector<int>& kinds, std::string_view segment) const;
  bool MatchesFrom(std::vector<int> kinds, std::string_view pattern) const;
  bool AnyOpaque(const std::vector<int>& kinds) const;

  std::vector<Kind> kinds_;
  std::unordered_map<std::string_view, std::vector<std::pair<int, int>>> by_name_;  // parent, child
  int root_ = 0;
  // What a prefix that ends in a wildcard matches: many patterns have the same.
  mutable std::unordered_map<std::string, std::vector<int>> known_;
  mutable size_t kept_ = 0;
};

}  // namespace kernelmap
