// Diagnostics as a SARIF 2.1.0 log, for code scanning services and editors.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>

#include "compiler/diagnostics.h"
#include "compiler/json_writer.h"

namespace kernelmap {
namespace {

constexpr std::string_view kSchema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

// A path as a URI reference: relative ones stay so, absolute ones become file:///… .
std::string Uri(std::string_view path) {
  std::string uri = path.starts_with("/") ? "file://" : "";
  for (const unsigned char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(static_cast<char>(c)) != std::string::npos;
    char escaped[4];
    std::snprintf(escaped, sizeof escaped, "%%%02X", c);
    uri += plain ? std::string(1, static_cast<char>(c)) : escaped;
  }
  return uri;
}

// In SARIF's messages `{0}` is a placeholder, and braces that are none stand twice.
void WriteMessage(std::string_view key, std::string_view text, JsonWriter* json) {
  std::string escaped;
  for (const char c : text) escaped += std::string(c == '{' || c == '}' ? 2 : 1, c);
  json->Key(key).BeginObject();
  json->Key("text").String(escaped);
  json->EndObject();
}

void WritePlace(const Source& source, Span span, JsonWriter* json) {
  const LineColumn begin = source.Locate(span.begin), end = source.Locate(span.end);
  json->Key("physicalLocation").BeginObject();
  json->Key("artifactLocation").BeginObject();
  json->Key("uri").String(Uri(source.name()));
  json->EndObject();
  json->Key("region").BeginObject();
  json->Key("startLine").Integer(begin.line);
  json->Key("startColumn").Integer(begin.column);
  json->Key("endLine").Integer(end.line);
  json->Key("endColumn").Integer(end.column);
  json->EndObject();
  json->EndObject();
}

// The kinds that are reported, by code, with their places in the list of rules.
using Rules = std::map<std::string_view, std::pair<const DiagnosticKind*, int64_t>>;

void WriteRules(const Rules& rules, JsonWriter* json) {
  json->Key("rules").BeginArray();
  for (const auto& [code, rule] : rules) {
    const DiagnosticKind& kind = *rule.first;
    json->BeginObject();
    json->Key("id").String(code);
    json->Key("name").String(kind.name);
    WriteMessage("shortDescription", DiagnosticTitle(kind), json);
    WriteMessage("fullDescription", kind.explanation, json);
    WriteMessage("help", kind.explanation, json);
    json->Key("defaultConfiguration").BeginObject();
    json->Key("level").String(SeverityName(kind.severity));
    json->EndObject();
    json->EndObject();
  }
  json->EndArray();
}

void WriteResult(const Diagnostic& diagnostic, int64_t rule, JsonWriter* json) {
  json->BeginObject();
  json->Key("ruleId").String(diagnostic.kind->code);
  json->Key("ruleIndex").Integer(rule);
  json->Key("level").String(SeverityName(diagnostic.kind->severity));
  std::string message = diagnostic.message;
  for (const std::string& help : diagnostic.help) message += "\nhelp: " + help;
  WriteMessage("message", message, json);
  json->Key("locations").BeginArray();
  json->BeginObject();
  WritePlace(*diagnostic.source, diagnostic.span, json);
  json->EndObject();
  json->EndArray();
  if (!diagnostic.labels.empty()) {
    json->Key("relatedLocations").BeginArray();
    int64_t id = 0;
    for (const Label& label : diagnostic.labels) {
      json->BeginObject();
      json->Key("id").Integer(id++);
      WritePlace(*diagnostic.source, label.span, json);
      WriteMessage("message", label.text, json);
      json->EndObject();
    }
    json->EndArray();
  }
  json->EndObject();
}

}  // namespace

std::string DiagnosticsToSarif(const std::vector<Diagnostic>& list,
                               const std::vector<std::string>& failures, std::string_view version) {
  Rules rules;
  for (const Diagnostic& diagnostic : list) rules[diagnostic.kind->code] = {diagnostic.kind, 0};
  int64_t index = 0;
  for (auto& [code, rule] : rules) rule.second = index++;
  JsonWriter json;
  json.BeginObject();
  json.Key("$schema").String(kSchema);
  json.Key("version").String("2.1.0");
  json.Key("runs").BeginArray();
  json.BeginObject();
  json.Key("tool").BeginObject();
  json.Key("driver").BeginObject();
  json.Key("name").String("kernelmap");
  json.Key("semanticVersion").String(version);
  WriteRules(rules, &json);
  json.EndObject();
  json.EndObject();
  json.Key("invocations").BeginArray();
  json.BeginObject();
  json.Key("executionSuccessful").Bool(failures.empty());
  json.Key("toolExecutionNotifications").BeginArray();
  for (const std::string& failure : failures) {
    json.BeginObject();
    json.Key("level").String("error");
    WriteMessage("message", failure, &json);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  json.EndArray();
  json.Key("columnKind").String("unicodeCodePoints");
  json.Key("results").BeginArray();
  for (const Diagnostic& diagnostic : list) {
    WriteResult(diagnostic, rules[diagnostic.kind->code].second, &json);
  }
  json.EndArray();
  json.EndObject();
  json.EndArray();
  json.EndObject();
  return std::move(json).Finish();
}

}  // namespace kernelmap
