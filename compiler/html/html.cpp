#include "compiler/html/html.h"

#include <algorithm>

#include "compiler/diff/escape.h"
#include "compiler/diff/view.h"
#include "compiler/html/page.h"
#include "compiler/plan_json.h"
#include "compiler/words.h"

namespace kernelmap {
namespace {

std::string Head(const std::string& what, const Target& target) {
  return "<header>\n<h1>" + HtmlText(what) + "</h1>\n<p>for " + HtmlText(TargetText(target)) +
         "</p>\n";
}

std::string MarkOf(const PlanEntry& entry) {
  switch (entry.decision) {
    case Decision::kKernel:
      return "<span class=\"mark replaced\"><span aria-hidden=\"true\">✓</span> kernel</span>";
    case Decision::kFallback:
      return ActionMark(Action::kFallback);
    case Decision::kDisabled:
      return ActionMark(Action::kDisabled);
  }
  return "";
}

std::string EntryHtml(const PlanEntry& entry) {
  const bool fallback = entry.decision == Decision::kFallback;
  std::string html = "<details class=\"entry" + std::string(fallback ? " fallback" : "") +
                     "\">\n<summary>" + MarkOf(entry) + " " + HtmlCode(entry.name);
  html += " <span class=\"what\">";
  if (entry.kernel) html += "→ " + HtmlText(entry.kernel->ref);
  if (entry.reason) html += (entry.kernel ? ": " : "") + HtmlText(entry.reason->text);
  if (!entry.from_config) html += " (inherited)";
  html += "</span></summary>\n<dl>\n" + ReasonFactsHtml(entry.reason) +
          KernelFactsHtml(entry.kernel) + FactHtml("mode", HtmlText(entry.mode)) +
          FactHtml("interval", HtmlCode(entry.interval));
  for (const FusionModule& module : entry.modules) {
    html += FactHtml("module", HtmlCode(module.name) + " at " + HtmlCode(module.pattern));
  }
  html += FactHtml("only", HtmlCodes(entry.only)) + FactHtml("except", HtmlCodes(entry.except)) +
          FactHtml("guard", HtmlText(entry.guard));
  if (const auto& source = entry.source) {
    html += FactHtml("config entry", HtmlCode(source->file + ":" + std::to_string(source->line) +
                                              ":" + std::to_string(source->column)));
  }
  html += "</dl>\n";
  if (!entry.trace.empty()) html += "<ol class=\"trace\">\n";
  for (const TraceStep& step : entry.trace) {
    html += std::string("<li class=\"") + (step.ok ? "ok" : "fails") + "\"><b>" +
            (step.ok ? "✓ ok" : "! fails") + "</b> " + HtmlText(step.step) + ": " +
            ProseHtml(step.text) + "</li>\n";
  }
  if (!entry.trace.empty()) html += "</ol>\n";
  return html + "</details>\n";
}

std::string Entries(const Plan& plan) {
  std::string html = "<section id=\"entries\">\n<h2>Names</h2>\n";
  for (const bool left : {true, false}) {
    for (const PlanEntry& entry : plan.entries) {
      if ((entry.decision == Decision::kFallback) == left) html += EntryHtml(entry);
    }
  }
  return html + "</section>\n";
}

}  // namespace

std::string ReportToHtml(const Report& report, const SiteErrors& errors) {
  const std::vector<SiteGroup> groups = GroupSites(report.sites);
  std::string body = Head(report.model_file, report.target) + CountsHtml(report.sites) +
                     "</header>\n<main>\n" + CausesHtml(groups) + SiteListHtml(groups, errors);
  if (!report.model_sha256.empty()) {
    body += "<footer>sha256 of the model: " + HtmlCode(report.model_sha256) + "</footer>\n";
  }
  return HtmlPage(report.model_file + ": kernelmap", body + "</main>\n", /*script=*/true);
}

std::string PlanToHtml(const Plan& plan) {
  const std::string what = plan.config_file.empty() ? "built-in mapping" : plan.config_file;
  size_t counts[3] = {};
  for (const PlanEntry& entry : plan.entries) ++counts[static_cast<size_t>(entry.decision)];
  std::string body = Head(what, plan.target) + "<p>" + CountOf(plan.entries.size(), "name") + ": " +
                     std::to_string(counts[0]) + " with a kernel, " + std::to_string(counts[1]) +
                     " fallback, " + std::to_string(counts[2]) + " disabled</p>\n";
  const std::vector<SiteGroup> groups = GroupSites(plan.sites);
  if (plan.has_sites) body += CountsHtml(plan.sites);
  if (std::any_of(plan.sites.begin(), plan.sites.end(),
                  [](const Site& site) { return site.action == Action::kCandidate; })) {
    body += "<p>A candidate is decided by " + HtmlCode("apply") + " or " +
            HtmlCode("plan --prove") + "; sites of functions are found only there.</p>\n";
  }
  body += "</header>\n<main>\n" + CausesHtml(groups) + Entries(plan);
  if (plan.has_sites) body += SiteListHtml(groups, {});
  return HtmlPage(what + ": kernelmap", body + "</main>\n", /*script=*/plan.has_sites);
}

}  // namespace kernelmap
