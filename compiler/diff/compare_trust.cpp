// Trust that the kernels of names need. By name, not by site: one more layer is no more trust.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "compiler/diff/state.h"
#include "compiler/plan_json.h"

namespace kernelmap {
namespace {

// From what lets in least to what lets in most.
constexpr std::array<std::string_view, 5> kTrust = {"builtin", "local", "trust_remote_code",
                                                    "trusted_publishers", "allow_all_kernels"};

// Foreign code of a name: whose it is, and what lets it in.
struct Foreign {
  size_t rank = 0;
  std::string trust, publisher;
  friend auto operator<=>(const Foreign&, const Foreign&) = default;

  std::string Text() const { return publisher.empty() ? trust : trust + " (" + publisher + ")"; }
};

struct NameTrust {
  std::set<Foreign> foreign;  // empty: only built-in kernels, or none
  bool builtin = false;
  bool refused = false;  // not_trusted

  size_t Rank() const { return foreign.empty() ? 0 : foreign.rbegin()->rank; }
  std::string Text() const {
    std::string text;
    for (const Foreign& one : foreign) text += (text.empty() ? "" : ", ") + one.Text();
    if (!text.empty()) return text;
    return builtin ? "builtin" : refused ? "not trusted" : "none";
  }
};

using ByName = std::map<std::string, NameTrust>;

void AddKernel(const std::string& name, const std::optional<KernelUse>& kernel,
               const std::optional<Reason>& reason, ByName* names) {
  NameTrust& trust = (*names)[name];
  trust.refused |= reason && reason->code == "not_trusted";
  if (!kernel) return;
  Foreign foreign;
  foreign.trust = kernel->trust.value_or("unknown");
  foreign.rank =
      static_cast<size_t>(std::find(kTrust.begin(), kTrust.end(), foreign.trust) - kTrust.begin());
  if (foreign.rank == 0) {
    trust.builtin = true;
    return;
  }
  const std::string repo = kernel->repo.value_or("");
  if (foreign.trust != "local") foreign.publisher = repo.substr(0, repo.find('/'));
  trust.foreign.insert(std::move(foreign));
}

ByName TrustOf(const Side& side) {
  ByName names;
  for (const PlanEntry& entry : side.entries) {
    AddKernel(entry.name, entry.kernel, entry.reason, &names);
  }
  if (side.has_entries) return names;
  for (const Site& site : side.sites) AddKernel(site.name, site.kernel, site.reason, &names);
  return names;
}

std::optional<TrustDirection> Direction(const NameTrust& before, const NameTrust& after) {
  if (before.foreign == after.foreign) return std::nullopt;
  if (before.Rank() < after.Rank()) return TrustDirection::kWidened;
  if (before.Rank() == after.Rank()) return TrustDirection::kOther;
  // What is only not there any more was not judged again.
  if (after.foreign.empty() && !after.builtin && !after.refused) return std::nullopt;
  return TrustDirection::kNarrowed;
}

}  // namespace

std::string_view TrustDirectionName(TrustDirection direction) {
  switch (direction) {
    case TrustDirection::kWidened:
      return "widened";
    case TrustDirection::kNarrowed:
      return "narrowed";
    case TrustDirection::kOther:
      return "changed";
  }
  return "";
}

void CompareTrust(const Side& before, const Side& after, std::vector<TrustChange>* trust) {
  const ByName old_names = TrustOf(before), new_names = TrustOf(after);
  std::set<std::string> names;
  for (const auto& [name, value] : old_names) names.insert(name);
  for (const auto& [name, value] : new_names) names.insert(name);
  const std::string target = after.target    ? TargetText(*after.target)
                             : before.target ? TargetText(*before.target)
                                             : "";
  for (const std::string& name : names) {
    static const NameTrust none;
    const auto old_at = old_names.find(name), new_at = new_names.find(name);
    // A report tells only of names that its model has.
    if ((old_at == old_names.end() && !before.has_entries && after.has_entries) ||
        (new_at == new_names.end() && !after.has_entries && before.has_entries)) {
      continue;
    }
    const NameTrust& a = old_at == old_names.end() ? none : old_at->second;
    const NameTrust& b = new_at == new_names.end() ? none : new_at->second;
    const std::optional<TrustDirection> direction = Direction(a, b);
    if (!direction) continue;
    TrustChange change;
    change.direction = *direction;
    change.what = "kernel";
    change.name = name;
    change.before = a.Text();
    change.after = b.Text();
    const auto same = std::find_if(trust->begin(), trust->end(), [&](const TrustChange& other) {
      return other.what == change.what && other.name == change.name &&
             other.direction == change.direction && other.before == change.before &&
             other.after == change.after;
    });
    if (same == trust->end()) {
      change.targets = {target};
      trust->push_back(std::move(change));
    } else {
      same->targets.push_back(target);
    }
  }
  std::stable_sort(trust->begin(), trust->end(), [](const TrustChange& a, const TrustChange& b) {
    return a.direction < b.direction;
  });
}

}  // namespace kernelmap
