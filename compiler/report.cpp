#include "compiler/report.h"

#include <algorithm>

#include "compiler/display.h"
#include "compiler/plan_json.h"
#include "compiler/reasons.h"

namespace kernelmap {
namespace {

int Count(const Report& report, Action action) {
  return static_cast<int>(
      std::count_if(report.sites.begin(), report.sites.end(),
                    [action](const Site& site) { return site.action == action; }));
}

}  // namespace

Reason ReasonOf(const std::string& code, const std::string& difference) {
  return {code, std::string(ReasonText(code)), difference};
}

std::string ReportToJson(const Report& report) {
  JsonWriter json;
  json.BeginObject();
  json.Key("format").String("kernelmap-report/1");
  json.Key("target");
  WriteTarget(report.target, &json);
  json.Key("model").BeginObject();
  json.Key("file").String(report.model_file);
  json.Key("sha256").String(report.model_sha256);
  json.EndObject();
  json.Key("summary").BeginObject();
  for (const Action action : {Action::kReplaced, Action::kFused, Action::kFallback,
                              Action::kAlready, Action::kExcluded, Action::kDisabled}) {
    json.Key(ActionName(action)).Integer(Count(report, action));
  }
  json.EndObject();
  json.Key("sites");
  WriteSites(report.sites, &json);
  json.EndObject();
  return std::move(json).Finish();
}

std::string ReportToText(const Report& report) {
  std::string text = Printable(report.model_file) + " for " + TargetText(report.target) + ": " +
                     std::to_string(Count(report, Action::kReplaced)) + " replaced, " +
                     std::to_string(Count(report, Action::kFused)) + " fused, " +
                     std::to_string(Count(report, Action::kFallback)) + " fallback\n";
  if (report.sites.empty()) {
    text +=
        "note: no module answers to a mapped name, and no code was proved to be one; an archive "
        "that "
        "was frozen or optimised has lost its modules\n";
  }
  return text + SitesToText(report.sites);
}

}  // namespace kernelmap
