// What came of a fetch, as JSON and as text.
#include <algorithm>

#include "compiler/display.h"
#include "compiler/hub/fetch_config.h"
#include "compiler/json_writer.h"
#include "compiler/plan_json.h"
#include "compiler/store/folder.h"
#include "compiler/words.h"

namespace kernelmap {
namespace {

using Status = FetchedRepository::Status;

std::string_view StatusName(Status status) {
  switch (status) {
    case Status::kFetched:
      return "fetched";
    case Status::kPresent:
      return "present";
    case Status::kFailed:
      return "failed";
    case Status::kSkipped:
      return "skipped";
  }
  return "";
}

struct Totals {
  size_t fetched = 0, present = 0, failed = 0, skipped = 0;  // repositories
  size_t files = 0;                                          // that came now
  uint64_t bytes = 0;
};

Totals TotalsOf(const FetchReport& report) {
  Totals totals;
  for (const FetchedRepository& one : report.repositories) {
    switch (one.status) {
      case Status::kFetched:
        ++totals.fetched;
        break;
      case Status::kPresent:
        ++totals.present;
        break;
      case Status::kFailed:
        ++totals.failed;
        break;
      case Status::kSkipped:
        ++totals.skipped;
        break;
    }
    for (const FetchedFile& file : one.files) {
      if (!file.fetched) continue;
      ++totals.files;
      totals.bytes += file.bytes;
    }
  }
  return totals;
}

void WriteText(const std::string& text, JsonWriter* json) {
  text.empty() ? json->Null() : json->String(text);
}

void WriteFetchTarget(const Target& target, JsonWriter* json) {
  json->BeginObject();
  json->Key("device").String(target.device);
  json->Key("capability");
  WriteText(CapabilityText(target.capability), json);
  json->Key("torch").String(target.torch);
  json->Key("cuda");
  WriteText(target.cuda.value_or(""), json);
  json->EndObject();
}

void WriteRepository(const FetchedRepository& one, JsonWriter* json) {
  json->BeginObject();
  json->Key("repo").String(one.repo);
  json->Key("revision").String(one.revision);
  json->Key("commit");
  WriteText(one.commit, json);
  json->Key("builds").Strings(one.builds);
  json->Key("redirect");
  WriteText(one.redirect, json);
  json->Key("needed_by");
  WriteText(one.needed_by, json);
  json->Key("status").String(StatusName(one.status));
  json->Key("files").BeginArray();
  uint64_t bytes = 0;
  for (const FetchedFile& file : one.files) {
    bytes += file.bytes;
    json->BeginObject();
    json->Key("path").String(file.path);
    json->Key("bytes").Integer(static_cast<int64_t>(file.bytes));
    json->Key("fetched").Bool(file.fetched);
    json->EndObject();
  }
  json->EndArray();
  json->Key("bytes").Integer(static_cast<int64_t>(bytes));
  json->Key("reason");
  if (one.reason) {
    json->BeginObject();
    json->Key("code").String(one.reason->code);
    json->Key("text").String(one.reason->text);
    json->EndObject();
  } else {
    json->Null();
  }
  json->EndObject();
}

std::string LineOf(const FetchedRepository& one) {
  std::string line = Visible(one.repo + "@" + one.revision);
  if (!one.commit.empty() && one.commit != one.revision) line += " = " + one.commit.substr(0, 12);
  if (!one.needed_by.empty()) line += " (for " + one.needed_by + ")";
  line += ": " + std::string(StatusName(one.status));
  for (const std::string& build : one.builds) line += " " + build;
  if (!one.redirect.empty()) line += ", leads to " + Visible(one.redirect);
  size_t files = 0;
  uint64_t bytes = 0;
  for (const FetchedFile& file : one.files) {
    if (!file.fetched) continue;
    ++files;
    bytes += file.bytes;
  }
  if (files > 0) line += ", " + CountOf(files, "file") + ", " + std::to_string(bytes) + " bytes";
  if (one.reason) line += ", " + one.reason->text + " [" + one.reason->code + "]";
  line = Printable(line) + "\n";
  // Of the config's own kernels a diagnostic says it.
  if (IsBad(one) && !one.own) line += "help: " + FetchHelp(*one.reason) + "\n";
  return line;
}

}  // namespace

std::string FetchToJson(const FetchReport& report) {
  JsonWriter json;
  json.BeginObject();
  json.Key("format").String("kernelmap-fetch/1");
  json.Key("targets").BeginArray();
  for (const Target& target : report.targets) WriteFetchTarget(target, &json);
  json.EndArray();
  json.Key("repositories").BeginArray();
  for (const FetchedRepository& one : report.repositories) WriteRepository(one, &json);
  json.EndArray();
  const Totals totals = TotalsOf(report);
  json.Key("summary").BeginObject();
  json.Key("fetched").Integer(static_cast<int64_t>(totals.fetched));
  json.Key("present").Integer(static_cast<int64_t>(totals.present));
  json.Key("failed").Integer(static_cast<int64_t>(totals.failed));
  json.Key("skipped").Integer(static_cast<int64_t>(totals.skipped));
  json.Key("files").Integer(static_cast<int64_t>(totals.files));
  json.Key("bytes").Integer(static_cast<int64_t>(totals.bytes));
  json.EndObject();
  json.EndObject();
  return std::move(json).Finish();
}

std::string FetchToText(const FetchReport& report) {
  std::string text;
  for (const FetchedRepository& one : report.repositories) text += LineOf(one);
  const Totals totals = TotalsOf(report);
  const size_t all = report.repositories.size();
  if (all == 0) return "no kernel of the Hub is chosen for the target\n";
  text += std::to_string(all) + (all == 1 ? " repository: " : " repositories: ") +
          std::to_string(totals.fetched) + " fetched, " + std::to_string(totals.present) +
          " present, " + std::to_string(totals.failed) + " failed, " +
          std::to_string(totals.skipped) + " skipped";
  if (totals.files > 0) {
    text += "; " + CountOf(totals.files, "file") + ", " + std::to_string(totals.bytes) + " bytes";
  }
  return text + "\n";
}

}  // namespace kernelmap
