// What differs between two configs, plans or reports, as data. JSON (schemas/diff.schema.json) is
// its truth; text, Markdown and HTML are made from it.
//
// Places in files, hashes of files, names of models, paths of this machine, traces and explanatory
// text are never compared.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/diff/side.h"

namespace kernelmap {

/// A name or a site on one side.
struct DiffState {
  std::string name;    // of a site: the name it is mapped by, which may change
  std::string action;  // of a name: kernel, fallback, disabled; of a site: as in reports
  std::string mode;    // of a name: the mode whose value was taken; "" where it is not known
  std::string guard;
  std::string proof;  // of a site
  std::string class_name;
  std::vector<std::string> only, except, members;
  std::optional<KernelUse> kernel;
  std::string reason;  // the code; "" without
};

enum class ChangeKind { kChanged, kAdded, kRemoved };
std::string_view ChangeKindName(ChangeKind kind);

/// A name, or a site, that is not as it was.
struct Change {
  ChangeKind kind = ChangeKind::kChanged;
  std::string name;
  std::string path;                 // of a site
  std::optional<int> index;         // of a site
  std::vector<std::string> fields;  // what changed, in a fixed order
  std::optional<DiffState> before, after;
  bool new_fallback = false;  // after: fallback; before: another action, or nothing
  std::string fusion;         // the name of the one that a site is part of now, or was
};

/// A setting or a part of the target.
struct ValueChange {
  std::string key;
  std::optional<std::string> before, after;
};

enum class TrustDirection { kWidened, kNarrowed, kOther };
std::string_view TrustDirectionName(TrustDirection direction);

/// More, less or other foreign code may run.
struct TrustChange {
  TrustDirection direction = TrustDirection::kOther;
  std::string what;     // trusted_publishers, allow_all_kernels, trust_remote_code, code, kernel
  std::string name;     // that is mapped; "" of a setting
  std::string where;    // the device and mode of an entry: "cuda>=8.0 training"
  std::string subject;  // a publisher or repository; "" where there is none
  std::optional<std::string> before, after;
  std::vector<std::string> targets;  // on which a name's kernel changed; empty: whatever the target
};

/// What was not compared, and why.
struct Unknown {
  std::string what;  // settings, entries, names, sites
  std::string text;
  std::vector<std::string> items;
};

/// Sites, or entries, by action, in a fixed order; none that is zero.
using Counts = std::vector<std::pair<std::string, size_t>>;

struct TargetDiff {
  std::optional<Target> before, after;
  std::vector<ValueChange> changes;  // of the target itself
  bool names_compared = false, sites_compared = false;
  Counts names_before, names_after, sites_before, sites_after;
  std::vector<Change> names;  // sorted
  std::vector<Change> sites;  // in the order of the new model, then what is gone
  std::vector<Unknown> unknown;
  /// How many sites of a name there are that have one shape: layers.*.norm. For renderings.
  std::vector<std::pair<std::string, size_t>> shapes;
};

struct DiffOperand {
  SideKind kind = SideKind::kNone;
  std::string label;
};

struct Diff {
  DiffOperand before, after;
  std::vector<TrustChange> trust;  // widened first
  std::vector<ValueChange> settings;
  std::vector<TargetDiff> targets;
  std::vector<Unknown> unknown;

  bool Different() const;
  bool NewFallback() const;
  bool TrustWidened() const;
};

/// Compares what two sides say of one target.
TargetDiff CompareSides(const Side& before, const Side& after);

/// What trust the names of two sides need. Appends to `trust`, once for all targets.
void CompareTrust(const Side& before, const Side& after, std::vector<TrustChange>* trust);

/// What two configs say whatever the target is: trust and settings. Null: the built-in mapping.
void CompareConfigs(const Config* before, const Config* after, Diff* diff);

/// After the targets: the entries of two configs that differ, and that no target of `diff` shows.
void FindHiddenEntries(const Config* before, const Config* after, Diff* diff);

/// kernelmap-diff/1, ending in a newline.
std::string DiffToJson(const Diff& diff);
std::string DiffToText(const Diff& diff, bool color);
/// As a comment of a pull request: fewer than 65,536 characters.
std::string DiffToMarkdown(const Diff& diff);
/// A page of its own.
std::string DiffToHtml(const Diff& diff);

}  // namespace kernelmap
