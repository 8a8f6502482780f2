// Diagnostics as programs read them.
#include <cstdint>

#include "compiler/diagnostics.h"
#include "compiler/json_writer.h"

namespace kernelmap {
namespace {

void WriteSpan(const Source& source, Span span, JsonWriter* json) {
  const LineColumn begin = source.Locate(span.begin), end = source.Locate(span.end);
  json->Key("line").Integer(begin.line);
  json->Key("column").Integer(begin.column);
  json->Key("end_line").Integer(end.line);
  json->Key("end_column").Integer(end.column);
}

}  // namespace

std::string DiagnosticsToJson(const std::vector<Diagnostic>& list) {
  size_t errors = 0, warnings = 0;
  JsonWriter json;
  json.BeginObject();
  json.Key("format").String("kernelmap-check/1");
  json.Key("diagnostics").BeginArray();
  for (const Diagnostic& diagnostic : list) {
    const Source& source = *diagnostic.source;
    const bool error = diagnostic.kind->severity == Severity::kError;
    (error ? errors : warnings) += diagnostic.stands_for;
    json.BeginObject();
    json.Key("code").String(diagnostic.kind->code);
    json.Key("severity").String(error ? "error" : "warning");
    json.Key("message").String(diagnostic.message);
    json.Key("file").String(source.BaseName());
    WriteSpan(source, diagnostic.span, &json);
    json.Key("labels").BeginArray();
    for (const Label& label : diagnostic.labels) {
      json.BeginObject();
      WriteSpan(source, label.span, &json);
      json.Key("message").String(label.text);
      json.EndObject();
    }
    json.EndArray();
    json.Key("help").Strings(diagnostic.help);
    json.EndObject();
  }
  json.EndArray();
  json.Key("summary").BeginObject();
  json.Key("errors").Integer(static_cast<int64_t>(errors));
  json.Key("warnings").Integer(static_cast<int64_t>(warnings));
  json.EndObject();
  json.EndObject();
  return std::move(json).Finish();
}

}  // namespace kernelmap
