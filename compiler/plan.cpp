#include "compiler/plan.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "compiler/catalogue.h"
#include "compiler/contains.h"
#include "compiler/display.h"
#include "compiler/plan_json.h"

namespace kernelmap {
namespace {

void WriteEntry(const PlanEntry& entry, JsonWriter* json) {
  json->BeginObject();
  json->Key("name").String(entry.name);
  json->Key("decision").String(DecisionName(entry.decision));
  json->Key("mode");
  entry.mode.empty() ? json->Null() : json->String(entry.mode);
  json->Key("kernel");
  WriteKernel(entry.kernel, json);
  json->Key("interval");
  entry.interval.empty() ? json->Null() : json->String(entry.interval);
  json->Key("modules").BeginArray();
  for (const FusionModule& module : entry.modules) {
    json->Strings({module.name, module.pattern});
  }
  json->EndArray();
  json->Key("only").Strings(entry.only);
  json->Key("except").Strings(entry.except);
  json->Key("guard").String(entry.guard);
  json->Key("reason");
  WriteReason(entry.reason, json);
  json->Key("source");
  WritePosition(entry.source, json);
  json->Key("inherited").Bool(!entry.from_config);
  json->Key("trace").BeginArray();
  for (const TraceStep& step : entry.trace) {
    json->BeginObject();
    json->Key("step").String(step.step);
    json->Key("ok").Bool(step.ok);
    json->Key("text").String(step.text);
    json->EndObject();
  }
  json->EndArray();
  json->EndObject();
}

}  // namespace

std::string_view DecisionName(Decision decision) {
  switch (decision) {
    case Decision::kKernel:
      return "kernel";
    case Decision::kFallback:
      return "fallback";
    case Decision::kDisabled:
      return "disabled";
  }
  return "";
}

const PlanEntry* Plan::Find(std::string_view name) const {
  const auto found = std::lower_bound(
      entries.begin(), entries.end(), name,
      [](const PlanEntry& entry, std::string_view wanted) { return entry.name < wanted; });
  return found != entries.end() && found->name == name ? &*found : nullptr;
}

std::string PlanToJson(const Plan& plan) {
  JsonWriter json;
  json.BeginObject();
  json.Key("format").String("kernelmap-plan/1");
  json.Key("target");
  WriteTarget(plan.target, &json);
  json.Key("config");
  if (plan.config_file.empty()) {
    json.Null();
  } else {
    json.BeginObject();
    json.Key("file").String(plan.config_file);
    json.Key("sha256").String(plan.config_sha256);
    json.EndObject();
  }
  json.Key("entries").BeginArray();
  for (const PlanEntry& entry : plan.entries) WriteEntry(entry, &json);
  json.EndArray();
  if (plan.has_sites) {
    json.Key("sites");
    WriteSites(plan.sites, &json);
  }
  json.EndObject();
  return std::move(json).Finish();
}

std::string PlanToText(const Plan& plan) {
  std::string text = plan.config_file.empty() ? "built-in mapping" : Printable(plan.config_file);
  text += " for " + TargetText(plan.target) + "\n";
  size_t width = 0;
  for (const PlanEntry& entry : plan.entries) {
    width = std::max(width, Printable(entry.name).size());
  }
  for (const PlanEntry& entry : plan.entries) {
    const std::string name = Printable(entry.name);
    std::string line = name + std::string(width - name.size(), ' ') + "  ";
    for (const FusionModule& module : entry.modules) line += module.pattern + " ";
    if (!entry.modules.empty()) line += "-> ";
    if (entry.kernel) line += entry.kernel->ref;
    if (!entry.kernel) line += DecisionName(entry.decision);
    if (entry.reason) line += ": " + entry.reason->text + " [" + entry.reason->code + "]";
    if (!entry.from_config) line += " (inherited)";
    text += "  " + Printable(line) + "\n";
  }
  if (plan.has_sites) text += SitesToText(plan.sites);
  return text;
}

std::vector<Answer> AnswersFor(const Plan& plan, std::string_view class_name) {
  std::vector<Answer> answers;
  std::set<std::string_view> declared;  // the names that [[model.layer]] gives the class
  for (const ExtraClass& extra : plan.extra_classes) {
    if (extra.class_name == class_name) declared.insert(extra.name);
  }
  for (const PlanEntry& entry : plan.entries) {
    if (entry.name.empty() || !entry.modules.empty()) continue;
    const Layer* layer = BuiltinCatalogue().FindLayer(entry.name);
    if (layer && layer->function) continue;
    const bool extra = declared.count(entry.name) > 0;
    if (extra) {
      answers.push_back({&entry, false, Answer::Why::kDeclared, ""});
    } else if (class_name.ends_with(entry.name)) {
      answers.push_back({&entry, false, Answer::Why::kSuffix, ""});
    } else if (layer && Contains(layer->classes, class_name)) {
      answers.push_back({&entry, false, Answer::Why::kCatalogue, ""});
    } else if (const auto hint = layer ? layer->HintOf(class_name) : ""; !hint.empty()) {
      answers.push_back({&entry, true, Answer::Why::kHint, hint});
    }
  }
  const auto order = [](const Answer& answer) {
    return std::tuple(!answer.entry->from_config, answer.hinted,
                      -static_cast<long>(answer.entry->name.size()));
  };
  std::stable_sort(answers.begin(), answers.end(),
                   [&](const Answer& a, const Answer& b) { return order(a) < order(b); });
  return answers;
}

}  // namespace kernelmap
