// Diagnostics as workflow commands of GitHub Actions: a line each, which the runner turns into an
// annotation of the file.
#include <string>

#include "compiler/diagnostics.h"
#include "compiler/display.h"

namespace kernelmap {
namespace {

std::string Escape(std::string_view text, bool property) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '%':
        escaped += "%25";
        break;
      case '\r':
        escaped += "%0D";
        break;
      case '\n':
        escaped += "%0A";
        break;
      case ':':
        escaped += property ? "%3A" : ":";
        break;
      case ',':
        escaped += property ? "%2C" : ",";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string Property(std::string_view name, std::string_view value) {
  return std::string(name) + "=" + Escape(value, true);
}

std::string Line(const Diagnostic& diagnostic) {
  const Source& source = *diagnostic.source;
  const LineColumn begin = source.Locate(diagnostic.span.begin);
  const LineColumn end = source.Locate(diagnostic.span.end);
  std::string line = "::" + std::string(SeverityName(diagnostic.kind->severity)) + " " +
                     Property("file", Printable(source.name())) +
                     ",line=" + std::to_string(begin.line) + ",endLine=" + std::to_string(end.line);
  if (begin.line == end.line) {  // columns of a range of lines are an error
    line += ",col=" + std::to_string(begin.column) + ",endColumn=" + std::to_string(end.column);
  }
  line += "," + Property("title", "kernelmap " + std::string(diagnostic.kind->code));
  std::string message = Printable(diagnostic.message);  // a log is read on terminals too
  for (const Label& label : diagnostic.labels) {
    const LineColumn at = source.Locate(label.span.begin);
    message += "\n" + Printable(source.name()) + ":" + std::to_string(at.line) + ":" +
               std::to_string(at.column) + ": " + Printable(label.text);
  }
  for (const std::string& help : diagnostic.help) message += "\nhelp: " + Printable(help);
  return line + "::" + Escape(message, false) + "\n";
}

}  // namespace

std::string DiagnosticsToGithub(const std::vector<Diagnostic>& list,
                                const std::vector<std::string>& failures) {
  std::string text;
  for (const Diagnostic& diagnostic : list) text += Line(diagnostic);
  for (const std::string& failure : failures) {
    text += "::error title=kernelmap::" + Escape(Printable(failure), false) + "\n";
  }
  return text;
}

}  // namespace kernelmap
