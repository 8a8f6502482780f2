#include "compiler/archive/path_index.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "compiler/path_pattern.h"

namespace kernelmap {
namespace {

constexpr size_t kMaxKinds = 20'000;     // that are tried one by one
constexpr size_t kMaxKnown = 4'000'000;  // matches of prefixes that are kept

std::string_view FirstSegment(std::string_view path) { return path.substr(0, path.find('.')); }

std::string_view WithoutFirst(std::string_view path) {
  const size_t dot = path.find('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
}

}  // namespace

PathIndex::PathIndex(const ModuleTree& tree) {
  // A tree of names; parents come before their children.
  struct Place {
    std::map<std::string_view, int> children;
    bool opaque = false;
    std::string_view path;
  };
  std::vector<Place> places;
  std::unordered_map<std::string_view, int> by_path;
  for (const ArchiveModule& module : tree.modules) {
    const int index = static_cast<int>(places.size());
    if (!by_path.emplace(module.path, index).second) continue;
    places.push_back({{}, module.opaque, module.path});
    if (module.path.empty()) continue;
    const std::string_view path = module.path;
    const size_t dot = path.rfind('.');
    const bool top = dot == std::string_view::npos;
    const auto parent = by_path.find(top ? std::string_view() : path.substr(0, dot));
    if (parent == by_path.end()) continue;  // the tree has every parent
    places[static_cast<size_t>(parent->second)].children[top ? path : path.substr(dot + 1)] = index;
  }
  if (places.empty()) places.push_back({});
  // From the leaves up, equal places become one kind.
  std::map<std::pair<bool, std::vector<std::pair<std::string_view, int>>>, int> known;
  std::vector<int> kind_of(places.size());
  for (size_t i = places.size(); i-- > 0;) {
    std::vector<std::pair<std::string_view, int>> children;
    for (const auto& [name, child] : places[i].children) {
      children.emplace_back(name, kind_of[static_cast<size_t>(child)]);
    }
    const auto [it, added] =
        known.try_emplace({places[i].opaque, std::move(children)}, static_cast<int>(kinds_.size()));
    if (added) {
      kinds_.push_back({{}, places[i].opaque, {}});
      kinds_.back().children.insert(it->first.second.begin(), it->first.second.end());
    }
    kind_of[i] = it->second;
    kinds_[static_cast<size_t>(it->second)].first = places[i].path;  // the last said is the first
  }
  root_ = kind_of[0];
  for (size_t kind = 0; kind < kinds_.size(); ++kind) {
    for (const auto& [name, child] : kinds_[kind].children) {
      by_name_[name].emplace_back(static_cast<int>(kind), child);
    }
  }
}

std::vector<int> PathIndex::Step(const std::vector<int>& kinds, std::string_view segment) const {
  std::vector<int> next;
  if (segment.find('*') != std::string_view::npos) {
    for (const int kind : kinds) {
      for (const auto& [name, child] : kinds_[static_cast<size_t>(kind)].children) {
        if (PathMatchesPattern(name, segment)) next.push_back(child);
      }
    }
  } else if (const auto found = by_name_.find(segment); found != by_name_.end()) {
    if (kinds.size() == 1) {  // most often
      const auto& children = kinds_[static_cast<size_t>(kinds[0])].children;
      if (const auto child = children.find(segment); child != children.end()) {
        next.push_back(child->second);
      }
      return next;
    }
    for (const auto& [parent, child] : found->second) {
      if (std::binary_search(kinds.begin(), kinds.end(), parent)) next.push_back(child);
    }
  }
  std::sort(next.begin(), next.end());
  next.erase(std::unique(next.begin(), next.end()), next.end());
  return next;
}

bool PathIndex::MatchesFrom(std::vector<int> kinds, std::string_view pattern) const {
  for (; !pattern.empty() && !kinds.empty(); pattern = WithoutFirst(pattern)) {
    kinds = Step(kinds, FirstSegment(pattern));
  }
  return !kinds.empty();
}

bool PathIndex::AnyOpaque(const std::vector<int>& kinds) const {
  return std::any_of(kinds.begin(), kinds.end(),
                     [this](int kind) { return kinds_[static_cast<size_t>(kind)].opaque; });
}

bool PathIndex::Matches(std::string_view pattern) const {
  std::vector<int> kinds = {root_};
  std::string_view rest = pattern;
  // Begin behind the longest prefix up to a wildcard that is known.
  const auto star_before = [&](size_t at) {
    return at == 0 ? std::string_view::npos : pattern.rfind('*', at - 1);
  };
  for (size_t star = star_before(pattern.size()); star != std::string_view::npos;
       star = star_before(star)) {
    const auto known = known_.find(std::string(pattern.substr(0, star + 1)));
    if (known == known_.end()) continue;
    kinds = known->second;
    rest = star + 2 < pattern.size() ? pattern.substr(star + 2) : std::string_view();
    break;
  }
  while (!rest.empty() && !kinds.empty()) {
    if (AnyOpaque(kinds)) return true;
    const std::string_view segment = FirstSegment(rest);
    kinds = Step(kinds, segment);
    if (segment.ends_with('*') && kept_ + kinds.size() < kMaxKnown) {
      const size_t end = static_cast<size_t>(segment.data() - pattern.data()) + segment.size();
      known_.emplace(pattern.substr(0, end), kinds);
      kept_ += kinds.size() + 1;
    }
    rest = WithoutFirst(rest);
  }
  return !kinds.empty();
}

std::optional<std::string> PathIndex::MatchesBelow(std::string_view pattern) const {
  if (kinds_.size() > kMaxKinds) return std::nullopt;
  std::vector<int> all(kinds_.size());
  std::iota(all.begin(), all.end(), 0);
  if (!MatchesFrom(all, pattern)) return std::nullopt;
  std::optional<std::string_view> best;
  for (const int start : all) {
    const std::string_view path = kinds_[static_cast<size_t>(start)].first;
    const auto order = [](std::string_view text) {
      return std::tuple(std::count(text.begin(), text.end(), '.'), text);
    };
    if (best && order(path) >= order(*best)) continue;
    if (MatchesFrom({start}, pattern)) best = path;
  }
  return std::string(*best);
}

PathIndex::Miss PathIndex::FirstMiss(std::string_view pattern) const {
  std::vector<int> kinds = {root_};
  Miss miss;
  std::string_view rest = pattern;
  while (!rest.empty()) {
    const std::string_view segment = FirstSegment(rest);
    const std::vector<int> next = Step(kinds, segment);
    if (next.empty()) {
      miss.begin = pattern.size() - rest.size();
      miss.end = miss.begin + segment.size();
      for (const int kind : kinds) {
        for (const auto& [name, child] : kinds_[static_cast<size_t>(kind)].children) {
          miss.names.emplace_back(name);
        }
      }
      std::sort(miss.names.begin(), miss.names.end());
      miss.names.erase(std::unique(miss.names.begin(), miss.names.end()), miss.names.end());
      return miss;
    }
    kinds = next;
    rest = WithoutFirst(rest);
  }
  return miss;
}

}  // namespace kernelmap
