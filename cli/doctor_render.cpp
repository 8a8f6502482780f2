// What doctor found, as JSON and as text.
#include <algorithm>

#include "cli/doctor.h"
#include "compiler/json_writer.h"
#include "compiler/store/folder.h"
#include "compiler/words.h"

namespace kernelmap {
namespace {

std::string_view StatusName(FindingStatus status) {
  switch (status) {
    case FindingStatus::kOk:
      return "ok";
    case FindingStatus::kWarning:
      return "warning";
    case FindingStatus::kError:
      return "error";
  }
  return "";
}

size_t HowMany(const Findings& findings, FindingStatus status) {
  return static_cast<size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [&](const Finding& finding) { return finding.status == status; }));
}

void WriteText(const std::string& text, JsonWriter* json) {
  text.empty() ? json->Null() : json->String(text);
}

}  // namespace

std::string FindingsToJson(const Findings& findings) {
  JsonWriter json;
  json.BeginObject();
  json.Key("format").String("kernelmap-doctor/1");
  json.Key("findings").BeginArray();
  for (const Finding& finding : findings) {
    json.BeginObject();
    json.Key("group").String(finding.group);
    json.Key("name").String(finding.name);
    json.Key("value");
    WriteText(finding.value, &json);
    json.Key("from");
    WriteText(finding.from, &json);
    json.Key("status").String(StatusName(finding.status));
    json.Key("problem");
    WriteText(finding.problem, &json);
    json.Key("help");
    WriteText(finding.help, &json);
    json.EndObject();
  }
  json.EndArray();
  json.Key("summary").BeginObject();
  json.Key("errors").Integer(static_cast<int64_t>(HowMany(findings, FindingStatus::kError)));
  json.Key("warnings").Integer(static_cast<int64_t>(HowMany(findings, FindingStatus::kWarning)));
  json.EndObject();
  json.EndObject();
  return std::move(json).Finish();
}

std::string FindingsToText(const Findings& findings) {
  size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, finding.name.size());
  std::string text, group;
  for (const Finding& finding : findings) {
    if (finding.group != group) text += finding.group + "\n";
    group = finding.group;
    text += "  " + finding.name + std::string(width - finding.name.size() + 2, ' ') +
            (finding.value.empty() ? "none" : Visible(finding.value));
    if (!finding.from.empty()) text += " (" + Visible(finding.from) + ")";
    text += "\n";
    if (finding.problem.empty()) continue;
    text += "    " + std::string(StatusName(finding.status)) + ": " + finding.problem + "\n";
    if (!finding.help.empty()) text += "    help: " + finding.help + "\n";
  }
  return text + CountOf(HowMany(findings, FindingStatus::kError), "error") + ", " +
         CountOf(HowMany(findings, FindingStatus::kWarning), "warning") + "\n";
}

}  // namespace kernelmap
