// Names against names, sites against sites, in time that grows with their number.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "compiler/diff/pairing.h"
#include "compiler/diff/state.h"
#include "compiler/plan_json.h"
#include "compiler/site_path.h"

namespace kernelmap {
namespace {

bool IsFallback(const std::optional<DiffState>& state) {
  return state && state->action == "fallback";
}

Change ChangeOf(std::string name, std::optional<DiffState> before, std::optional<DiffState> after) {
  Change change;
  change.name = std::move(name);
  change.kind = !before ? ChangeKind::kAdded : !after ? ChangeKind::kRemoved : ChangeKind::kChanged;
  change.new_fallback = IsFallback(after) && !IsFallback(before);
  change.before = std::move(before);
  change.after = std::move(after);
  return change;
}

template <typename T, typename Word>
Counts CountBy(const std::vector<T>& list, const std::vector<std::string>& order, Word word) {
  std::map<std::string, size_t> counts;
  for (const T& item : list) ++counts[word(item)];
  Counts result;
  for (const std::string& action : order) {
    if (const auto at = counts.find(action); at != counts.end()) result.emplace_back(*at);
  }
  return result;
}

Counts CountNames(const std::vector<PlanEntry>& entries) {
  return CountBy(entries, {"kernel", "disabled", "fallback"},
                 [](const PlanEntry& entry) { return StateOf(entry).action; });
}

Counts CountSites(const std::vector<Site>& sites) {
  return CountBy(sites,
                 {"replaced", "fused", "candidate", "already", "excluded", "disabled", "fallback"},
                 [](const Site& site) { return std::string(ActionName(site.action)); });
}

void CompareTargets(TargetDiff* diff) {
  if (!diff->before || !diff->after) return;
  const Target &a = *diff->before, &b = *diff->after;
  const auto add = [&](const char* key, const std::optional<std::string>& before,
                       const std::optional<std::string>& after) {
    if (before != after) diff->changes.push_back({key, before, after});
  };
  const auto capability = [](const Target& target) {
    const std::string text = CapabilityText(target.capability);
    return text.empty() ? std::nullopt : std::optional(text);
  };
  add("device", a.device, b.device);
  add("capability", capability(a), capability(b));
  add("mode", a.mode, b.mode);
  add("torch", a.torch, b.torch);
  add("cuda", a.cuda, b.cuda);
}

void CompareEntries(const Side& before, const Side& after, TargetDiff* diff) {
  diff->names_compared = true;
  diff->names_before = CountNames(before.entries);
  diff->names_after = CountNames(after.entries);
  const Pairing pairing = PairEntries(before.entries, after.entries);
  for (const auto& [old_index, new_index] : pairing) {
    std::optional<DiffState> a, b;
    if (old_index) a = StateOf(before.entries[*old_index]);
    if (new_index) b = StateOf(after.entries[*new_index]);
    std::vector<std::string> fields;
    if (a && b) {
      fields = FieldsThatDiffer(*a, *b);
      if (fields.empty()) continue;
    }
    std::string name = new_index ? after.entries[*new_index].name : before.entries[*old_index].name;
    diff->names.push_back(ChangeOf(std::move(name), std::move(a), std::move(b)));
    diff->names.back().fields = std::move(fields);
  }
}

// A plan against what the sites of a report show of its names.
void CompareWithSites(const Side& before, const Side& after, TargetDiff* diff) {
  const bool plan_first = before.has_entries;
  const std::vector<PlanEntry>& entries = plan_first ? before.entries : after.entries;
  const std::map<std::string, PlanEntry> known =
      NamesOfSites(plan_first ? after.sites : before.sites);
  diff->names_compared = true;
  (plan_first ? diff->names_before : diff->names_after) = CountNames(entries);
  std::vector<std::string> unknown;
  for (const PlanEntry& entry : entries) {
    const auto at = known.find(entry.name);
    if (at == known.end() || !entry.modules.empty()) {
      unknown.push_back(entry.name);
      continue;
    }
    // Of a name's entry a report knows the kernel, or why there is none.
    DiffState planned = StateOf(entry), done = StateOf(at->second);
    planned.mode = done.mode;
    planned.guard = done.guard;
    planned.only = done.only;
    planned.except = done.except;
    DiffState &a = plan_first ? planned : done, &b = plan_first ? done : planned;
    std::vector<std::string> fields = FieldsThatDiffer(a, b);
    if (fields.empty()) continue;
    diff->names.push_back(ChangeOf(entry.name, std::move(a), std::move(b)));
    diff->names.back().fields = std::move(fields);
  }
  if (!unknown.empty()) {
    diff->unknown.push_back(
        {"names", "the report has no site that tells of these names", std::move(unknown)});
  }
  std::vector<std::string> unmapped;
  for (const auto& [name, entry] : known) {
    const bool mapped = std::any_of(entries.begin(), entries.end(),
                                    [&](const PlanEntry& other) { return other.name == name; });
    if (!mapped) unmapped.push_back(name);
  }
  for (std::string& name : unmapped) {
    DiffState state = StateOf(known.at(name));
    diff->names.push_back(plan_first ? ChangeOf(std::move(name), std::nullopt, std::move(state))
                                     : ChangeOf(std::move(name), std::move(state), std::nullopt));
  }
  std::stable_sort(diff->names.begin(), diff->names.end(),
                   [](const Change& a, const Change& b) { return a.name < b.name; });
}

// Whether the two only seem to differ, because one of them was not proved.
bool Undecided(const Site& a, const Site& b) {
  if ((a.action == Action::kCandidate) == (b.action == Action::kCandidate)) return false;
  const Site& other = a.action == Action::kCandidate ? b : a;
  switch (other.action) {
    case Action::kReplaced:
    case Action::kFused:
    case Action::kAlready:
      return true;
    case Action::kFallback:
      return other.kernel || (other.reason && DecidedByModel(other.reason->code));
    default:
      return false;
  }
}

class SiteComparer {
 public:
  SiteComparer(const Side& before, const Side& after, TargetDiff* diff)
      : before_(before),
        after_(after),
        one_proved_(before.Proved() != after.Proved()),
        diff_(diff) {}

  void Run() {
    diff_->sites_compared = true;
    diff_->sites_before = CountSites(before_.sites);
    diff_->sites_after = CountSites(after_.sites);
    for (const auto& [old_index, new_index] : PairSites(before_.sites, after_.sites)) {
      if (old_index && new_index) {
        Compare(before_.sites[*old_index], after_.sites[*new_index]);
      } else if (new_index) {
        OneSided(after_, after_.sites[*new_index]);
      } else {
        OneSided(before_, before_.sites[*old_index]);
      }
    }
    NameFusions();
    if (undecided_ > 0) {
      diff_->unknown.push_back({"sites",
                                std::to_string(undecided_) +
                                    (undecided_ == 1 ? " site is" : " sites are") +
                                    " decided on one side only: apply does that, or plan --prove",
                                {}});
    }
    CountShapes();
  }

 private:
  void Compare(const Site& a, const Site& b) {
    DiffState before = StateOf(a), after = StateOf(b);
    std::vector<std::string> fields;
    if (one_proved_ && Undecided(a, b)) {
      ++undecided_;
      if (before.kernel && after.kernel) {
        fields = KernelFieldsThatDiffer(before.kernel, after.kernel);
      }
    } else {
      fields = FieldsThatDiffer(before, after);
      if (one_proved_) std::erase(fields, "proof");
    }
    if (!fields.empty()) Add(b, std::move(before), std::move(after), std::move(fields));
  }

  // A site of one side. Proving finds more sites, and drops some of those that only a hint gave.
  void OneSided(const Side& side, const Site& site) {
    const bool found_by_proof = side.Proved() || site.action == Action::kCandidate;
    if (one_proved_ && found_by_proof) {
      ++undecided_;
      return;
    }
    std::optional<DiffState> before, after;
    (&side == &after_ ? after : before) = StateOf(site);
    Add(site, std::move(before), std::move(after), {});
  }

  void Add(const Site& site, std::optional<DiffState> before, std::optional<DiffState> after,
           std::vector<std::string> fields) {
    Change change = ChangeOf(site.name, std::move(before), std::move(after));
    change.path = site.path;
    change.index = site.index;
    change.fields = std::move(fields);
    diff_->sites.push_back(std::move(change));
  }

  // A module that is gone from the sites may be part of a fusion now, and one that is new may have
  // been.
  void NameFusions() {
    std::unordered_map<std::string, std::string> now, was;
    const auto collect = [](const Side& side, auto* members) {
      for (const Site& site : side.sites) {
        if (site.action != Action::kFused) continue;
        for (const std::string& member : site.members) {
          members->emplace(member, site.name);
        }
      }
    };
    collect(before_, &was);
    collect(after_, &now);
    for (Change& change : diff_->sites) {
      const auto* members = change.kind == ChangeKind::kRemoved ? &now
                            : change.kind == ChangeKind::kAdded ? &was
                                                                : nullptr;
      if (!members) continue;
      if (const auto at = members->find(change.path); at != members->end()) {
        change.fusion = at->second;
      }
    }
  }

  void CountShapes() {
    std::unordered_map<std::string, size_t> index;
    for (const Change& change : diff_->sites) {
      std::string shape = change.name + " " + ShapeOf(change.path);
      if (index.emplace(shape, diff_->shapes.size()).second) {
        diff_->shapes.emplace_back(std::move(shape), 0);
      }
    }
    const auto count = [&](const Side& side, std::vector<size_t>* counts) {
      counts->resize(diff_->shapes.size());
      for (const Site& site : side.sites) {
        const auto at = index.find(site.name + " " + ShapeOf(site.path));
        if (at != index.end()) ++(*counts)[at->second];
      }
    };
    std::vector<size_t> old_counts, new_counts;
    count(before_, &old_counts);
    count(after_, &new_counts);
    for (size_t i = 0; i < diff_->shapes.size(); ++i) {
      diff_->shapes[i].second = std::max(old_counts[i], new_counts[i]);
    }
  }

  const Side& before_;
  const Side& after_;
  bool one_proved_;
  TargetDiff* diff_;
  size_t undecided_ = 0;
};

std::string WhyNoSites(const Side& side) {
  return side.kind == SideKind::kConfig ? "a config alone has no sites: give the model with --model"
                                        : "the plan was made without a model, so it has no sites";
}

}  // namespace

TargetDiff CompareSides(const Side& before, const Side& after) {
  TargetDiff diff;
  diff.before = before.target;
  diff.after = after.target;
  CompareTargets(&diff);
  if (before.has_entries && after.has_entries) {
    CompareEntries(before, after, &diff);
  } else if (before.has_entries || after.has_entries) {
    CompareWithSites(before, after, &diff);
  }
  if (before.has_sites && after.has_sites) {
    SiteComparer(before, after, &diff).Run();
  } else if (before.has_sites != after.has_sites) {
    diff.unknown.push_back({"sites", WhyNoSites(before.has_sites ? after : before), {}});
  }
  return diff;
}

}  // namespace kernelmap
