#include "compiler/diff/view.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "compiler/diff/state_text.h"
#include "compiler/plan_json.h"
#include "compiler/site_path.h"
#include "compiler/words.h"

namespace kernelmap {
namespace {

using Kind = DiffSection::Kind;

char MarkOf(const Change& change) {
  if (change.new_fallback) return '!';
  return change.kind == ChangeKind::kAdded ? '+' : change.kind == ChangeKind::kRemoved ? '-' : '~';
}

DiffRow TrustRow(const TrustChange& change, bool several_targets) {
  DiffRow row;
  row.mark = change.direction == TrustDirection::kWidened    ? '+'
             : change.direction == TrustDirection::kNarrowed ? '-'
                                                             : '~';
  row.subject = change.name.empty() ? change.what : change.name;
  if (!change.where.empty()) row.subject += " for " + change.where;
  if (several_targets && !change.targets.empty()) {
    row.subject += " on " + JoinTexts(change.targets, "; ");
  }
  row.before = change.before.value_or("");
  row.after = change.after.value_or("");
  if (change.what == "trust_remote_code") {
    const std::string text = "trust_remote_code of " + change.subject;
    row.before = row.mark == '-' ? text : "";
    row.after = row.mark == '-' ? "" : text;
  }
  return row;
}

std::string TrustTitle(const std::vector<TrustChange>& trust) {
  bool widened = false, narrowed = false, other = false;
  for (const TrustChange& change : trust) {
    widened |= change.direction == TrustDirection::kWidened;
    narrowed |= change.direction == TrustDirection::kNarrowed;
    other |= change.direction == TrustDirection::kOther;
  }
  if (widened && narrowed) return "trust widened and narrowed";
  if (widened) return "trust widened";
  return other ? "trust changed" : "trust narrowed";
}

DiffRow ValueRow(const ValueChange& change) {
  const auto text = [](const std::optional<std::string>& value) {
    return !value ? "none" : value->empty() ? "nothing" : *value;
  };
  DiffRow row;
  row.subject = change.key;
  row.before = text(change.before);
  row.after = text(change.after);
  return row;
}

// Rows of sites, one a group of equal changes and a shape of path, groups in the order of their
// first site.
std::vector<DiffRow> SiteRows(const TargetDiff& target) {
  std::unordered_map<std::string, size_t> totals;
  for (const auto& [shape, total] : target.shapes) totals.emplace(shape, total);
  std::vector<std::vector<DiffRow>> groups;
  std::unordered_map<std::string, size_t> group_of, row_of;
  for (const Change& change : target.sites) {
    auto [before, after] = ChangeTexts(change, true);
    if (before.empty()) before = "no site";
    if (after.empty()) after = "no site";
    const char mark = MarkOf(change);
    const std::string key = mark + change.name + '\n' + before + '\n' + after;
    const size_t group = group_of.emplace(key, groups.size()).first->second;
    if (group == groups.size()) groups.emplace_back();
    std::vector<DiffRow>& rows = groups[group];
    const std::string shape = ShapeOf(change.path);
    const auto [at, added] = row_of.emplace(key + '\n' + shape, rows.size());
    if (added) {
      DiffRow row;
      row.mark = mark;
      row.subject = PathWithIndex(change.path, change.index);
      row.name = change.name;
      row.before = std::move(before);
      row.after = std::move(after);
      const auto total = totals.find(change.name + " " + shape);
      row.total = total == totals.end() ? 1 : total->second;
      rows.push_back(std::move(row));
    } else {
      rows[at->second].subject = PathText(shape);
      ++rows[at->second].count;
    }
  }
  std::vector<DiffRow> all;
  for (std::vector<DiffRow>& rows : groups) {
    std::move(rows.begin(), rows.end(), std::back_inserter(all));
  }
  return all;
}

// "replaced 11 to 6, fallback 0 to 5"
std::string CountsTitle(const Counts& before, const Counts& after) {
  std::vector<std::string> order;
  std::map<std::string, std::pair<size_t, size_t>> counts;
  for (const auto* list : {&before, &after}) {
    for (const auto& [action, count] : *list) {
      if (!counts.contains(action)) order.push_back(action);
      (list == &before ? counts[action].first : counts[action].second) = count;
    }
  }
  std::string text;
  for (const std::string& action : order) {
    const auto& [a, b] = counts[action];
    if (a == b) continue;
    text +=
        (text.empty() ? "" : ", ") + action + " " + std::to_string(a) + " to " + std::to_string(b);
  }
  return text;
}

void AddTarget(const TargetDiff& target, DiffView* view) {
  const auto& shown = target.after ? target.after : target.before;
  const std::string text = shown ? TargetText(*shown) : "";
  const auto add = [&](Kind kind, std::string title, std::vector<DiffRow> rows) {
    if (!rows.empty()) view->sections.push_back({kind, std::move(title), text, std::move(rows)});
  };
  std::vector<DiffRow> rows;
  for (const ValueChange& change : target.changes) rows.push_back(ValueRow(change));
  add(Kind::kTarget, "target", std::move(rows));
  rows.clear();
  for (const Change& change : target.names) {
    DiffRow row;
    row.mark = MarkOf(change);
    row.subject = change.name;
    std::tie(row.before, row.after) = ChangeTexts(change, false);
    if (row.before.empty()) row.before = "not mapped";
    if (row.after.empty()) row.after = "not mapped";
    rows.push_back(std::move(row));
  }
  add(Kind::kNames, "names", std::move(rows));
  const std::string counts = CountsTitle(target.sites_before, target.sites_after);
  add(Kind::kSites, "sites" + (counts.empty() ? "" : ": " + counts), SiteRows(target));
}

std::vector<DiffRow> UnknownRows(const std::vector<Unknown>& list) {
  std::vector<DiffRow> rows;
  for (const Unknown& unknown : list) {
    DiffRow row;
    row.subject = unknown.text;
    row.name = unknown.what;
    row.details = unknown.items;
    rows.push_back(std::move(row));
  }
  return rows;
}

// "2 names and 9 sites differ; 5 sites newly fall back"
std::string Summary(const Diff& diff) {
  if (!diff.Different()) return "no difference";
  std::set<std::string> names, sites, fallback_names, fallback_sites;
  size_t targets = 0;
  for (const TargetDiff& target : diff.targets) {
    targets += target.changes.size();
    for (const Change& change : target.names) {
      names.insert(change.name);
      if (change.new_fallback) fallback_names.insert(change.name);
    }
    for (const Change& change : target.sites) {
      std::string key = change.path + '\n' + change.name + '\n';
      if (change.index) key += std::to_string(*change.index);
      if (change.new_fallback) fallback_sites.insert(key);
      sites.insert(std::move(key));
    }
  }
  std::vector<std::string> parts;
  if (!diff.trust.empty()) parts.push_back(TrustTitle(diff.trust));
  if (targets > 0) parts.emplace_back("another target");
  std::string counts;
  for (const auto& [count, noun] :
       {std::pair(diff.settings.size(), "setting"), std::pair(names.size(), "name"),
        std::pair(sites.size(), "site")}) {
    if (count > 0) counts += (counts.empty() ? "" : ", ") + CountOf(count, noun);
  }
  if (!counts.empty()) parts.push_back(counts + " changed");
  const bool by_site = !fallback_sites.empty();
  const size_t fallbacks = by_site ? fallback_sites.size() : fallback_names.size();
  if (fallbacks > 0) {
    parts.push_back(CountOf(fallbacks, by_site ? "site" : "name") +
                    (fallbacks == 1 ? " newly falls back" : " newly fall back"));
  }
  return JoinTexts(parts, "; ");
}

}  // namespace

std::string MarkWord(Kind kind, char mark) {
  const bool trust = kind == Kind::kTrust;
  switch (mark) {
    case '+':
      return trust ? "widened" : "added";
    case '-':
      return trust ? "narrowed" : "removed";
    case '!':
      return "fallback";
    default:
      return "changed";
  }
}

std::string CountText(const DiffRow& row) {
  if (row.count == 1) return "";
  std::string text = "(" + std::to_string(row.count);
  if (row.count < row.total) text += " of " + std::to_string(row.total);
  return text + ")";
}

DiffView ViewOf(const Diff& diff) {
  DiffView view;
  view.before = diff.before.label;
  view.after = diff.after.label;
  view.summary = Summary(diff);
  const auto add = [&](Kind kind, std::string title, std::vector<DiffRow> rows) {
    if (!rows.empty()) view.sections.push_back({kind, std::move(title), "", std::move(rows)});
  };
  std::vector<DiffRow> rows;
  for (const TrustChange& change : diff.trust) {
    rows.push_back(TrustRow(change, diff.targets.size() > 1));
  }
  add(Kind::kTrust, TrustTitle(diff.trust), std::move(rows));
  rows.clear();
  for (const ValueChange& change : diff.settings) rows.push_back(ValueRow(change));
  add(Kind::kSettings, "settings", std::move(rows));
  for (const TargetDiff& target : diff.targets) AddTarget(target, &view);
  std::vector<Unknown> unknown = diff.unknown;
  for (const TargetDiff& target : diff.targets) {
    for (const Unknown& one : target.unknown) {
      const bool told = std::any_of(unknown.begin(), unknown.end(), [&](const Unknown& other) {
        return other.text == one.text && other.items == one.items;
      });
      if (!told) unknown.push_back(one);
    }
  }
  add(Kind::kUnknown, "not compared", UnknownRows(unknown));
  return view;
}

}  // namespace kernelmap
