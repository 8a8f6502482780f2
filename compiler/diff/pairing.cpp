#include "compiler/diff/pairing.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/diff/state.h"

namespace kernelmap {
namespace {

constexpr char kEnd = '\0';  // in no name or path that a file can have

std::string Key(const PlanEntry& entry) {
  std::string key = entry.name;
  for (const FusionModule& module : entry.modules) {
    key += kEnd + module.name + kEnd + module.pattern;
  }
  return key;
}

std::string Key(const Site& site) {
  std::string key = site.path + kEnd + site.name + kEnd;
  if (site.index) key += std::to_string(*site.index);
  for (const std::string& member : site.members) key += kEnd + member;
  return key;
}

// Pairs equal keys, the first with the first and so on.
template <typename T>
Pairing PairByKey(const std::vector<T>& before, const std::vector<T>& after) {
  std::unordered_map<std::string, std::vector<size_t>> old_ones;
  old_ones.reserve(before.size());
  for (size_t i = before.size(); i-- > 0;) old_ones[Key(before[i])].push_back(i);
  Pairing pairing;
  pairing.reserve(after.size());
  std::vector<bool> taken(before.size());
  for (size_t i = 0; i < after.size(); ++i) {
    const auto at = old_ones.find(Key(after[i]));
    if (at == old_ones.end() || at->second.empty()) {
      pairing.emplace_back(std::nullopt, i);
      continue;
    }
    pairing.emplace_back(at->second.back(), i);
    taken[at->second.back()] = true;
    at->second.pop_back();
  }
  for (size_t i = 0; i < before.size(); ++i) {
    if (!taken[i]) pairing.emplace_back(i, std::nullopt);
  }
  return pairing;
}

// Pairs what is left on both sides where `key` gives each exactly one. An empty key pairs nothing.
template <typename Key>
void PairLeftovers(Pairing* pairing, const Key& key) {
  struct Left {
    std::vector<size_t> gone, added;
  };
  std::unordered_map<std::string, Left> left;
  for (size_t i = 0; i < pairing->size(); ++i) {
    const auto& [old_index, new_index] = (*pairing)[i];
    if (old_index && new_index) continue;
    const std::string text = key((*pairing)[i]);
    if (!text.empty()) (old_index ? left[text].gone : left[text].added).push_back(i);
  }
  std::vector<bool> dropped(pairing->size());
  for (const auto& [text, lists] : left) {
    if (lists.gone.size() != 1 || lists.added.size() != 1) continue;
    (*pairing)[lists.added[0]].first = (*pairing)[lists.gone[0]].first;
    dropped[lists.gone[0]] = true;
  }
  size_t kept = 0;
  for (size_t i = 0; i < pairing->size(); ++i) {
    if (!dropped[i]) (*pairing)[kept++] = (*pairing)[i];
  }
  pairing->resize(kept);
}

}  // namespace

Pairing PairEntries(const std::vector<PlanEntry>& before, const std::vector<PlanEntry>& after) {
  Pairing pairing = PairByKey(before, after);
  const auto entry = [&](const auto& pair) -> const PlanEntry& {
    return pair.second ? after[*pair.second] : before[*pair.first];
  };
  PairLeftovers(&pairing, [&](const auto& pair) { return entry(pair).name; });
  std::stable_sort(pairing.begin(), pairing.end(),
                   [&](const auto& a, const auto& b) { return entry(a).name < entry(b).name; });
  return pairing;
}

Pairing PairSites(const std::vector<Site>& before, const std::vector<Site>& after) {
  Pairing pairing = PairByKey(before, after);
  const auto site = [&](const auto& pair) -> const Site& {
    return pair.second ? after[*pair.second] : before[*pair.first];
  };
  // A fusion whose members changed, then a module that has another name.
  PairLeftovers(&pairing, [&](const auto& pair) {
    const Site& s = site(pair);
    return s.members.empty() ? "" : s.path + kEnd + s.name;
  });
  PairLeftovers(&pairing, [&](const auto& pair) {
    const Site& s = site(pair);
    return s.members.empty() && !s.index ? "module " + s.path + kEnd + s.class_name : "";
  });
  return pairing;
}

std::map<std::string, PlanEntry> NamesOfSites(const std::vector<Site>& sites) {
  std::map<std::string, PlanEntry> names;
  for (const Site& site : sites) {
    const bool in_model = !site.reason || DecidedByModel(site.reason->code);
    if (!site.members.empty() || (!site.kernel && in_model)) continue;
    PlanEntry& entry = names[site.name];
    entry.name = site.name;
    if (entry.kernel) continue;
    entry.kernel = site.kernel;
    entry.reason = site.kernel ? std::nullopt : site.reason;
    entry.decision = site.kernel                        ? Decision::kKernel
                     : site.action == Action::kDisabled ? Decision::kDisabled
                                                        : Decision::kFallback;
  }
  return names;
}

}  // namespace kernelmap
