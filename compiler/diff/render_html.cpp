// A diff as a page of its own: no script, nothing loaded from elsewhere.
#include "compiler/diff/escape.h"
#include "compiler/diff/view.h"
#include "compiler/html/page.h"

namespace kernelmap {
namespace {

using Kind = DiffSection::Kind;

std::string Section(const DiffSection& section) {
  const bool sites = section.kind == Kind::kSites;
  std::string html = section.kind == Kind::kTrust ? "<section class=\"trust\">\n" : "<section>\n";
  html += "<h3>" + HtmlText(section.title) + "</h3>\n";
  if (section.kind == Kind::kUnknown) {
    html += "<ul>\n";
    for (const DiffRow& row : section.rows) {
      html += "<li>" + HtmlText(row.name) + ": " + HtmlText(row.subject);
      for (const std::string& detail : row.details) {
        html += (&detail == &row.details.front() ? ": " : ", ") + HtmlCode(detail);
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
    html += "<tr><td class=\"" + word + "\">" + word + "</td><td>" + HtmlCode(row.subject) +
            (count.empty() ? "" : " " + count) + "</td>";
    if (sites) html += "<td>" + HtmlCode(row.name) + "</td>";
    html += "<td>" + HtmlCode(row.before) + "</td><td>" + HtmlCode(row.after) + "</td></tr>\n";
  }
  return html + "</tbody>\n</table>\n</section>\n";
}

}  // namespace

std::string DiffToHtml(const Diff& diff) {
  const DiffView view = ViewOf(diff);
  const std::string title = view.before + " → " + view.after;
  std::string html =
      "<h1>" + HtmlText(title) + "</h1>\n<p><strong>" + HtmlText(view.summary) + "</strong></p>\n";
  std::string target;
  for (const DiffSection& section : view.sections) {
    if (!section.target.empty() && section.target != target) {
      html += "<h2>" + HtmlText(section.target) + "</h2>\n";
    }
    target = section.target;
    html += Section(section);
  }
  return HtmlPage(title, html, /*script=*/false);
}

}  // namespace kernelmap
