#include "compiler/plan_json.h"

#include <algorithm>
#include <iterator>

#include "compiler/display.h"
#include "compiler/site_path.h"

namespace kernelmap {
namespace {

void WriteOptional(std::string_view key, const std::optional<std::string>& value,
                   JsonWriter* json) {
  json->Key(key);
  value ? json->String(*value) : json->Null();
}

void WriteOrNull(std::string_view key, const std::string& value, JsonWriter* json) {
  json->Key(key);
  value.empty() ? json->Null() : json->String(value);
}

void WriteSite(const Site& site, JsonWriter* json) {
  json->BeginObject();
  json->Key("path").String(site.path);
  json->Key("class").String(site.class_name);
  json->Key("name").String(site.name);
  if (site.index) json->Key("index").Integer(*site.index);
  json->Key("action").String(ActionName(site.action));
  json->Key("kernel");
  WriteKernel(site.kernel, json);
  json->Key("members").Strings(site.members);
  json->Key("also").Strings(site.also);
  WriteOrNull("proof", site.proof, json);
  WriteOrNull("reference", site.reference, json);
  json->Key("reason");
  WriteReason(site.reason, json);
  json->Key("source");
  WritePosition(site.source, json);
  WriteOrNull("model_source", site.model_source, json);
  json->EndObject();
}

std::string SiteLine(const Site& site) {
  std::string line = PathWithIndex(site.path, site.index) + "  " + site.name;
  if (site.kernel) line += " -> " + site.kernel->ref;
  if (!site.members.empty()) {
    line += " (";
    for (const std::string& member : site.members) {
      if (&member != &site.members.front()) line += " + ";
      line += member;
    }
    line += ")";
  }
  if (site.reason) {
    line += ": " + site.reason->text + " [" + site.reason->code + "]";
    if (!site.reason->difference.empty()) line += "; " + site.reason->difference;
  }
  return "  " + Printable(line) + "\n";
}

}  // namespace

std::string CapabilityText(const std::optional<Capability>& capability) {
  if (!capability) return "";
  return std::to_string(capability->major) + "." + std::to_string(capability->minor);
}

std::string TargetText(const Target& target) {
  std::string text = target.device;
  if (target.capability) text += " " + CapabilityText(target.capability);
  text += ", " + target.mode + ", torch " + target.torch;
  if (target.cuda) text += ", " + target.device + " " + *target.cuda;
  return text;
}

void WriteTarget(const Target& target, JsonWriter* json) {
  json->BeginObject();
  json->Key("device").String(target.device);
  WriteOrNull("capability", CapabilityText(target.capability), json);
  json->Key("mode").String(target.mode);
  json->Key("torch").String(target.torch);
  WriteOptional("cuda", target.cuda, json);
  json->EndObject();
}

void WriteKernel(const std::optional<KernelUse>& kernel, JsonWriter* json) {
  if (!kernel) return json->Null();
  json->BeginObject();
  json->Key("ref").String(kernel->ref);
  WriteOptional("repo", kernel->repo, json);
  WriteOptional("revision", kernel->revision, json);
  WriteOptional("variant", kernel->variant, json);
  json->Key("name").String(kernel->name);
  WriteOptional("digest", kernel->digest, json);
  WriteOptional("trust", kernel->trust, json);
  json->EndObject();
}

void WriteReason(const std::optional<Reason>& reason, JsonWriter* json) {
  if (!reason) return json->Null();
  json->BeginObject();
  json->Key("code").String(reason->code);
  json->Key("text").String(reason->text);
  if (!reason->difference.empty()) json->Key("difference").String(reason->difference);
  json->EndObject();
}

void WritePosition(const std::optional<Position>& position, JsonWriter* json) {
  if (!position) return json->Null();
  json->BeginObject();
  json->Key("file").String(position->file);
  json->Key("line").Integer(position->line);
  json->Key("column").Integer(position->column);
  json->EndObject();
}

void WriteSites(const std::vector<Site>& sites, JsonWriter* json) {
  json->BeginArray();
  for (const Site& site : sites) WriteSite(site, json);
  json->EndArray();
}

std::string_view ActionName(Action action) {
  switch (action) {
    case Action::kReplaced:
      return "replaced";
    case Action::kFused:
      return "fused";
    case Action::kAlready:
      return "already";
    case Action::kExcluded:
      return "excluded";
    case Action::kDisabled:
      return "disabled";
    case Action::kFallback:
      return "fallback";
    case Action::kCandidate:
      return "candidate";
  }
  return "";
}

std::string TraceToText(const std::vector<TraceStep>& trace) {
  std::string text;
  for (const TraceStep& step : trace) {
    text += std::string(step.ok ? "  ok    " : "  fails ") + step.step + ": " +
            Printable(step.text) + "\n";
  }
  return text;
}

std::string SitesToText(const std::vector<Site>& sites) {
  std::string text;
  for (const Action action :
       {Action::kReplaced, Action::kFused, Action::kCandidate, Action::kAlready, Action::kExcluded,
        Action::kDisabled, Action::kFallback}) {
    std::vector<const Site*> group;
    for (const Site& site : sites) {
      if (site.action == action) group.push_back(&site);
    }
    if (group.empty()) continue;
    text += std::string(ActionName(action)) + " (" + std::to_string(group.size()) + ")\n";
    for (const Site* site : group) text += SiteLine(*site);
  }
  return text;
}

}  // namespace kernelmap
