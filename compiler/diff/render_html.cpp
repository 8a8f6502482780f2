// A diff as a page of its own: no script, nothing loaded from elsewhere.
#include "compiler/diff/escape.h"
#include "compiler/diff/view.h"

namespace kernelmap {
namespace {

using Kind = DiffSection::Kind;

constexpr std::string_view kStyle =
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;"
    "color-scheme:light dark}"
    "table{border-collapse:collapse;width:100%}"
    "th,td{text-align:left;vertical-align:top;padding:.25rem .6rem;border-bottom:1px solid #8884;"
    "overflow-wrap:anywhere}"
    "code{font:13px/1.5 ui-monospace,monospace}"
    ".widened,.fallback,.removed{color:#c22}.narrowed,.added{color:#282}"
    ".trust{border:2px solid #c22;padding:0 1rem 1rem}";

std::string Code(const std::string& text) {
  return text.empty() ? "" : "<code>" + HtmlText(text) + "</code>";
}

std::string Section(const DiffSection& section) {
  const bool sites = section.kind == Kind::kSites;
  std::string html = section.kind == Kind::kTrust ? "<section class=\"trust\">\n" : "<section>\n";
  html += "<h3>" + HtmlText(section.title) + "</h3>\n";
  if (section.kind == Kind::kUnknown) {
    html += "<ul>\n";
    for (const DiffRow& row : section.rows) {
      html += "<li>" + HtmlText(row.name) + ": " + HtmlText(row.subject);
      for (const std::string& detail : row.details) {
        html += (&detail == &row.details.front() ? ": " : ", ") + Code(detail);
      }
      html += "</li>\n";
    }
    return html + "</ul>\n</section>\n";
  }
  html += "<table>\n<thead><tr><th></th><th>";
  html += sites ? "where</th><th>name" : "what";
  html += "</th><th>before</th><th>after</th></tr></thead>\n<tbody>\n";
  for (const DiffRow& row : section.rows) {
    const std::string word = MarkWord(section.kind, row.mark);
    const std::string count = CountText(row);
    html += "<tr><td class=\"" + word + "\">" + word + "</td><td>" + Code(row.subject) +
            (count.empty() ? "" : " " + count) + "</td>";
    if (sites) html += "<td>" + Code(row.name) + "</td>";
    html += "<td>" + Code(row.before) + "</td><td>" + Code(row.after) + "</td></tr>\n";
  }
  return html + "</tbody>\n</table>\n</section>\n";
}

}  // namespace

std::string DiffToHtml(const Diff& diff) {
  const DiffView view = ViewOf(diff);
  const std::string title = HtmlText(view.before) + " → " + HtmlText(view.after);
  std::string html =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n<title>" +
      title + "</title>\n<style>" + std::string(kStyle) + "</style>\n</head>\n<body>\n<h1>" +
      title + "</h1>\n<p><strong>" + HtmlText(view.summary) + "</strong></p>\n";
  std::string target;
  for (const DiffSection& section : view.sections) {
    if (!section.target.empty() && section.target != target) {
      html += "<h2>" + HtmlText(section.target) + "</h2>\n";
    }
    target = section.target;
    html += Section(section);
  }
  return html + "</body>\n</html>\n";
}

}  // namespace kernelmap
