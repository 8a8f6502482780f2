// Entries that no target can choose: something else always comes before them.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/check.h"
#include "compiler/path_pattern.h"

namespace kernelmap {
namespace {

// Pairs of patterns that are compared in one config: of very many it would take too long.
constexpr size_t kMaxCompared = 1'000'000;

// A set of whole numbers, as intervals that neither touch nor overlap.
class Union {
 public:
  bool Holds(const Interval& interval) const {
    auto after = intervals_.upper_bound(interval.low);
    if (after == intervals_.begin()) return false;
    return std::prev(after)->second >= interval.high;
  }

  void Add(Interval interval) {
    auto at = intervals_.upper_bound(interval.low);
    if (at != intervals_.begin() && Touches(std::prev(at)->second, interval.low)) --at;
    while (at != intervals_.end() && Touches(interval.high, at->first)) {
      interval.low = std::min(interval.low, at->first);
      interval.high = std::max(interval.high, at->second);
      at = intervals_.erase(at);
    }
    intervals_[interval.low] = interval.high;
  }

 private:
  // Capabilities are whole numbers, so 89 and 90 leave nothing between them.
  static bool Touches(long high, long low) { return high + 1 >= low; }
  std::map<int, int> intervals_;
};

long Width(const Interval& interval) { return long{interval.high} - interval.low; }

// The narrowest come first; what they cover together is never reached by a wider one. An entry
// without bounds is what a target of unknown capability gets, so it is always reached.
void CheckDevice(std::vector<const DeviceEntry*> entries, Diagnostics* diagnostics) {
  std::stable_sort(entries.begin(), entries.end(), [](const DeviceEntry* a, const DeviceEntry* b) {
    return Width(a->selector->interval) < Width(b->selector->interval);
  });
  Union covered;
  for (auto at = entries.begin(); at != entries.end();) {
    const long width = Width((*at)->selector->interval);
    const auto same = at;
    for (; at != entries.end() && Width((*at)->selector->interval) == width; ++at) {
      const Interval& interval = (*at)->selector->interval;
      if (interval.Bounded() && covered.Holds(interval)) {
        diagnostics->Report<Diag::NeverChosen>((*at)->span, (*at)->selector->Text())
            .Help("narrower entries hold all of its capabilities, and the smallest interval wins");
      }
    }
    for (auto again = same; again != at; ++again) covered.Add((*again)->selector->interval);
  }
}

void CheckEntries(const Mapping& mapping, Diagnostics* diagnostics) {
  std::map<std::string, std::vector<const DeviceEntry*>> devices;
  for (const DeviceEntry& entry : mapping.entries) {
    if (entry.selector) devices[entry.selector->device].push_back(&entry);
  }
  for (const auto& [device, entries] : devices) {
    if (entries.size() > 1) CheckDevice(entries, diagnostics);
  }
}

// Every target takes `training|torch_compile` before `fallback`.
void CheckModes(const DeviceEntry& entry, Diagnostics* diagnostics) {
  constexpr Mode kLast{.training = true, .torch_compile = true}, kFallback{.fallback = true};
  const auto find = [&](const Mode& mode) {
    return std::find_if(entry.modes.begin(), entry.modes.end(),
                        [&](const ModeValue& value) { return value.mode == mode; });
  };
  const auto last = find(kLast), fallback = find(kFallback);
  if (last == entry.modes.end() || fallback == entry.modes.end()) return;
  diagnostics->Report<Diag::NeverChosen>(fallback->span, "fallback")
      .Note(last->span, "every target takes this before it");
}

void CheckCandidates(const Value& value, Diagnostics* diagnostics) {
  std::map<std::string, const Candidate*> seen;
  for (const Candidate& candidate : value.candidates) {
    const auto [first, added] =
        seen.try_emplace(candidate.ref.text + "\n" + candidate.revision, &candidate);
    if (added) continue;
    diagnostics->Report<Diag::NeverChosen>(candidate.span, candidate.ref.text)
        .Note(first->second->span, "the same, tried before it");
  }
}

// Takes the pairs it compares from `*left`, and compares none where they are more than that.
void CheckPaths(const Candidate& candidate, size_t* left, Diagnostics* diagnostics) {
  if (candidate.only.empty()) return;
  const size_t pairs = candidate.only.size() * candidate.except.size();
  if (pairs > *left) return;
  *left -= pairs;
  const bool all =
      std::all_of(candidate.only.begin(), candidate.only.end(), [&](const PathPattern& only) {
        return std::any_of(
            candidate.except.begin(), candidate.except.end(),
            [&](const PathPattern& except) { return PatternCovers(except.text, only.text); });
      });
  if (all) diagnostics->Report<Diag::NothingLeft>(candidate.span, candidate.ref.text);
}

}  // namespace

void CheckShadowed(const Config& config, Diagnostics* diagnostics) {
  ForEachMapping(config, [&](const Mapping& mapping) {
    CheckEntries(mapping, diagnostics);
    for (const DeviceEntry& entry : mapping.entries) {
      CheckModes(entry, diagnostics);
      for (const ModeValue& mode : entry.modes) CheckCandidates(mode.value, diagnostics);
    }
  });
  size_t left = kMaxCompared;
  ForEachCandidate(config,
                   [&](const Candidate& candidate) { CheckPaths(candidate, &left, diagnostics); });
}

}  // namespace kernelmap
