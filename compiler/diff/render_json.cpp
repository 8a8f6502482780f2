// kernelmap-diff/1: every change, one by one.
#include <algorithm>

#include "compiler/diff/diff.h"
#include "compiler/plan_json.h"
#include "compiler/reasons.h"

namespace kernelmap {
namespace {

constexpr const char* kDecision = "decision";  // what the action of a name is called in plans

void WriteMaybe(std::string_view key, const std::optional<std::string>& value, JsonWriter* json) {
  json->Key(key);
  value ? json->String(*value) : json->Null();
}

void WriteOperand(const DiffOperand& operand, JsonWriter* json) {
  json->BeginObject();
  json->Key("kind").String(SideKindName(operand.kind));
  json->Key("file").String(operand.label);
  json->EndObject();
}

void WriteTrust(const TrustChange& change, JsonWriter* json) {
  json->BeginObject();
  json->Key("change").String(TrustDirectionName(change.direction));
  json->Key("what").String(change.what);
  json->Key("name").String(change.name);
  json->Key("where").String(change.where);
  json->Key("subject").String(change.subject);
  WriteMaybe("before", change.before, json);
  WriteMaybe("after", change.after, json);
  json->Key("targets").Strings(change.targets);
  json->EndObject();
}

void WriteValues(const std::vector<ValueChange>& changes, JsonWriter* json) {
  json->BeginArray();
  for (const ValueChange& change : changes) {
    json->BeginObject();
    json->Key("key").String(change.key);
    WriteMaybe("before", change.before, json);
    WriteMaybe("after", change.after, json);
    json->EndObject();
  }
  json->EndArray();
}

void WriteUnknown(const std::vector<Unknown>& list, JsonWriter* json) {
  json->BeginArray();
  for (const Unknown& unknown : list) {
    json->BeginObject();
    json->Key("what").String(unknown.what);
    json->Key("text").String(unknown.text);
    json->Key("items").Strings(unknown.items);
    json->EndObject();
  }
  json->EndArray();
}

void WriteState(const std::optional<DiffState>& state, bool site, JsonWriter* json) {
  if (!state) return json->Null();
  json->BeginObject();
  json->Key(site ? "action" : kDecision).String(state->action);
  json->Key("kernel");
  WriteKernel(state->kernel, json);
  json->Key("reason");
  if (state->reason.empty()) {
    json->Null();
  } else {
    json->BeginObject();
    json->Key("code").String(state->reason);
    json->Key("text").String(ReasonText(state->reason));
    json->EndObject();
  }
  if (site) {
    json->Key("name").String(state->name);
    json->Key("class").String(state->class_name);
    json->Key("proof");
    state->proof.empty() ? json->Null() : json->String(state->proof);
  } else {
    json->Key("mode");
    state->mode.empty() ? json->Null() : json->String(state->mode);
    json->Key("guard").String(state->guard);
    json->Key("only").Strings(state->only);
    json->Key("except").Strings(state->except);
  }
  json->Key("members").Strings(state->members);
  json->EndObject();
}

void WriteChanges(const std::vector<Change>& changes, bool sites, JsonWriter* json) {
  json->BeginArray();
  for (const Change& change : changes) {
    json->BeginObject();
    if (sites) json->Key("path").String(change.path);
    json->Key("name").String(change.name);
    if (change.index) json->Key("index").Integer(*change.index);
    json->Key("change").String(ChangeKindName(change.kind));
    std::vector<std::string> fields = change.fields;
    if (!sites)
      std::replace(fields.begin(), fields.end(), std::string("action"), std::string(kDecision));
    json->Key("fields").Strings(fields);
    json->Key("new_fallback").Bool(change.new_fallback);
    if (!change.fusion.empty()) json->Key("fusion").String(change.fusion);
    json->Key("before");
    WriteState(change.before, sites, json);
    json->Key("after");
    WriteState(change.after, sites, json);
    json->EndObject();
  }
  json->EndArray();
}

void WriteCounts(std::string_view key, bool known, const Counts& before, const Counts& after,
                 JsonWriter* json) {
  json->Key(key);
  if (!known) return json->Null();
  json->BeginObject();
  for (const auto* counts : {&before, &after}) {
    json->Key(counts == &before ? "before" : "after").BeginObject();
    for (const auto& [action, count] : *counts) {
      json->Key(action).Integer(static_cast<int64_t>(count));
    }
    json->EndObject();
  }
  json->EndObject();
}

void WriteTargetDiff(const TargetDiff& diff, JsonWriter* json) {
  json->BeginObject();
  json->Key("before");
  diff.before ? WriteTarget(*diff.before, json) : json->Null();
  json->Key("after");
  diff.after ? WriteTarget(*diff.after, json) : json->Null();
  json->Key("target_changes");
  WriteValues(diff.changes, json);
  WriteCounts("name_counts", diff.names_compared, diff.names_before, diff.names_after, json);
  WriteCounts("site_counts", diff.sites_compared, diff.sites_before, diff.sites_after, json);
  json->Key("names");
  diff.names_compared ? WriteChanges(diff.names, false, json) : json->Null();
  json->Key("sites");
  diff.sites_compared ? WriteChanges(diff.sites, true, json) : json->Null();
  json->Key("not_compared");
  WriteUnknown(diff.unknown, json);
  json->EndObject();
}

}  // namespace

std::string DiffToJson(const Diff& diff) {
  JsonWriter json;
  json.BeginObject();
  json.Key("format").String("kernelmap-diff/1");
  json.Key("before");
  WriteOperand(diff.before, &json);
  json.Key("after");
  WriteOperand(diff.after, &json);
  json.Key("different").Bool(diff.Different());
  json.Key("trust_widened").Bool(diff.TrustWidened());
  json.Key("new_fallback").Bool(diff.NewFallback());
  json.Key("trust").BeginArray();
  for (const TrustChange& change : diff.trust) WriteTrust(change, &json);
  json.EndArray();
  json.Key("settings");
  WriteValues(diff.settings, &json);
  json.Key("targets").BeginArray();
  for (const TargetDiff& target : diff.targets) WriteTargetDiff(target, &json);
  json.EndArray();
  json.Key("not_compared");
  WriteUnknown(diff.unknown, &json);
  json.EndObject();
  return std::move(json).Finish();
}

}  // namespace kernelmap
