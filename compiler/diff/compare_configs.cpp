// What two configs say whatever the target is, and what they say of targets that nobody asked for.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "compiler/candidate.h"
#include "compiler/diff/diff.h"
#include "compiler/words.h"

namespace kernelmap {
namespace {

std::string Word(bool value) { return value ? "true" : "false"; }

const Config& OrDefault(const Config* config) {
  static const Config defaults;
  return config ? *config : defaults;
}

// An entry of a config: a name, and what its value stands under.
struct EntryKey {
  std::string name, device, mode;
  friend auto operator<=>(const EntryKey&, const EntryKey&) = default;

  std::string Where() const {
    return mode.empty() ? device : device.empty() ? mode : device + " " + mode;
  }
};

template <typename Visit>
void VisitMapping(const Mapping& mapping, const Visit& visit) {
  for (const DeviceEntry& entry : mapping.entries) {
    for (const ModeValue& mode : entry.modes) {
      visit(EntryKey{mapping.name, entry.selector ? entry.selector->Text() : "",
                     mode.mode ? mode.mode->Text() : ""},
            mode.value);
    }
  }
}

template <typename Visit>
void VisitValues(const Config& config, const Visit& visit) {
  for (const Mapping& mapping : config.mappings) VisitMapping(mapping, visit);
  if (config.attn_implementation) VisitMapping(*config.attn_implementation, visit);
  for (const Fusion& fusion : config.fusions) VisitMapping(fusion.mapping, visit);
}

using TrustedEntries = std::set<std::pair<EntryKey, std::string>>;  // and the repository

TrustedEntries EntriesThatTrust(const Config& config) {
  TrustedEntries trusted;
  VisitValues(config, [&](const EntryKey& key, const Value& value) {
    for (const Candidate& candidate : value.candidates) {
      if (candidate.trust_remote_code) trusted.emplace(key, candidate.ref.repo);
    }
  });
  return trusted;
}

void AddTrust(TrustDirection direction, std::string what, std::string subject,
              std::optional<std::string> before, std::optional<std::string> after, Diff* diff,
              const EntryKey& key = {}) {
  TrustChange change;
  change.direction = direction;
  change.what = std::move(what);
  change.name = key.name;
  change.where = key.Where();
  change.subject = std::move(subject);
  change.before = std::move(before);
  change.after = std::move(after);
  diff->trust.push_back(std::move(change));
}

void CompareTrustSettings(const Config& before, const Config& after, Diff* diff) {
  if (before.allow_all_kernels.value != after.allow_all_kernels.value) {
    AddTrust(after.allow_all_kernels.value ? TrustDirection::kWidened : TrustDirection::kNarrowed,
             "allow_all_kernels", "", Word(before.allow_all_kernels.value),
             Word(after.allow_all_kernels.value), diff);
  }
  const auto& old_ones = before.trusted_publishers.value;
  const auto& new_ones = after.trusted_publishers.value;
  const TrustedEntries old_entries = EntriesThatTrust(before),
                       new_entries = EntriesThatTrust(after);
  for (const std::string& publisher : new_ones) {
    if (HasPublisher(old_ones, publisher)) continue;
    AddTrust(TrustDirection::kWidened, "trusted_publishers", publisher, {}, publisher, diff);
  }
  for (const auto& [key, repo] : new_entries) {
    if (old_entries.contains({key, repo})) continue;
    AddTrust(TrustDirection::kWidened, "trust_remote_code", repo, "false", "true", diff, key);
  }
  for (const std::string& publisher : old_ones) {
    if (HasPublisher(new_ones, publisher)) continue;
    AddTrust(TrustDirection::kNarrowed, "trusted_publishers", publisher, publisher, {}, diff);
  }
  for (const auto& [key, repo] : old_entries) {
    if (new_entries.contains({key, repo})) continue;
    AddTrust(TrustDirection::kNarrowed, "trust_remote_code", repo, "true", "false", diff, key);
  }
}

// Whose code the entries of a config may run as far as trust goes, and the name that uses it first.
// This asks no store, so that a kernel which is not there yet is no surprise later.
std::map<std::string, std::string> PublishersUsed(const Config& config) {
  std::map<std::string, std::string> used;
  VisitValues(config, [&](const EntryKey& key, const Value& value) {
    for (const Candidate& candidate : value.candidates) {
      const std::string publisher = candidate.ref.Publisher();
      if (candidate.ref.kind == KernelRef::Kind::kLocal) {
        used.emplace("", key.name);
      } else if (candidate.ref.kind == KernelRef::Kind::kHub &&
                 (config.allow_all_kernels.value || candidate.trust_remote_code ||
                  HasPublisher(config.trusted_publishers.value, publisher))) {
        used.emplace(publisher, key.name);
      }
    }
  });
  if (config.default_mapping.value == "transformers" && config.inherit_mapping.value) {
    used.emplace("kernels-community", "the transformers mapping");
  }
  return used;
}

void ComparePublishers(const Config& before, const Config& after, Diff* diff) {
  const auto old_ones = PublishersUsed(before), new_ones = PublishersUsed(after);
  for (const auto& [publisher, name] : new_ones) {
    if (old_ones.contains(publisher)) continue;
    const std::string whose = publisher.empty() ? "folders of this machine" : publisher;
    AddTrust(TrustDirection::kWidened, "code", publisher, {}, "of " + whose + ", for " + name,
             diff);
  }
}

std::string ExtraClasses(const Config& config) {
  std::set<std::string> layers;
  for (const ExtraLayer& extra : config.extra_classes) {
    layers.insert(extra.class_name + " is " + extra.name);
  }
  return JoinTexts({layers.begin(), layers.end()});
}

// What decides whether a value is the same. Where a local kernel lies is not asked.
std::string Canonical(const Value& value, const EntryKey& key, const Config& config) {
  std::string text = value.disabled ? "disabled" : "";
  for (const Candidate& candidate : value.candidates) {
    text += RefLabel(candidate.ref, &config) + "\n" + WantedRevision(candidate, key.name) + "\n" +
            JoinTexts(Texts(candidate.only)) + "\n" + JoinTexts(Texts(candidate.except)) + "\n" +
            candidate.guard + "\n";
  }
  return text;
}

std::map<EntryKey, std::string> Values(const Config& config) {
  std::map<EntryKey, std::string> values;
  VisitValues(config, [&](const EntryKey& key, const Value& value) {
    values[key] += Canonical(value, key, config);
  });
  return values;
}

}  // namespace

void CompareConfigs(const Config* before, const Config* after, Diff* diff) {
  const Config &a = OrDefault(before), &b = OrDefault(after);
  CompareTrustSettings(a, b, diff);
  ComparePublishers(a, b, diff);
  const auto add = [&](const char* key, const std::string& x, const std::string& y) {
    if (x != y) diff->settings.push_back({key, x, y});
  };
  add("inherit_mapping", Word(a.inherit_mapping.value), Word(b.inherit_mapping.value));
  add("default_mapping", a.default_mapping.value, b.default_mapping.value);
  add("use_local_kernel", Word(a.use_local_kernel.value), Word(b.use_local_kernel.value));
  add("deterministic", Word(a.deterministic.value), Word(b.deterministic.value));
  add("on_fallback", a.on_fallback.value, b.on_fallback.value);
  add("model.root", a.model_root.value, b.model_root.value);
  add("model.inputs", JoinTexts(a.model_inputs), JoinTexts(b.model_inputs));
  add("model.layer", ExtraClasses(a), ExtraClasses(b));
}

void FindHiddenEntries(const Config* before, const Config* after, Diff* diff) {
  const auto old_values = Values(OrDefault(before)), new_values = Values(OrDefault(after));
  std::set<std::string> devices;
  std::map<std::string, std::set<std::string>> shown;  // the modes that were taken, by name
  for (const TargetDiff& target : diff->targets) {
    for (const auto& side : {target.before, target.after}) {
      if (side) devices.insert(side->device);
    }
    for (const Change& change : target.names) {
      for (const auto& state : {change.before, change.after}) {
        if (state) shown[change.name].insert(state->mode);
      }
    }
  }
  std::set<std::string> hidden;
  const auto compare = [&](const auto& ours, const auto& theirs) {
    for (const auto& [key, text] : ours) {
      const auto at = theirs.find(key);
      if (at != theirs.end() && at->second == text) continue;
      const std::string device = key.device.substr(0, key.device.find_first_of("<>="));
      const auto modes = shown.find(key.name);
      const bool told = devices.contains(device) && modes != shown.end() &&
                        (key.mode.empty() || modes->second.contains(key.mode));
      if (key.device.empty() || told) continue;
      hidden.insert(key.name + " for " + key.Where());
    }
  };
  compare(old_values, new_values);
  compare(new_values, old_values);
  if (hidden.empty()) return;
  diff->unknown.push_back({"entries",
                           "some differ, but decide nothing on the targets that were "
                           "compared: --target names others",
                           {hidden.begin(), hidden.end()}});
}

}  // namespace kernelmap
