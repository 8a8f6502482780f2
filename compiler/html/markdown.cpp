// Reports and plans as Markdown: a comment for a pull request.
#include "compiler/diff/escape.h"
#include "compiler/diff/view.h"
#include "compiler/html/html.h"
#include "compiler/plan_json.h"
#include "compiler/site_path.h"
#include "compiler/words.h"

namespace kernelmap {
namespace {

// Of one table. Two tables are below the 65,536 characters that GitHub takes, whatever is in them.
constexpr size_t kMaxRows = 100, kMaxBytes = 20'000;

// A table from its head and rows.
std::string Table(std::string text, const std::vector<std::string>& rows) {
  size_t shown = 0;
  while (shown < rows.size() && shown < kMaxRows && text.size() < kMaxBytes) {
    text += rows[shown++];
  }
  if (shown < rows.size()) text += "\n" + CountOf(rows.size() - shown, "row") + " more\n";
  return text;
}

std::string ReasonCell(const std::optional<Reason>& reason) {
  if (!reason) return "";
  std::string text = MarkdownCode(reason->text + " [" + reason->code + "]");
  if (!reason->difference.empty()) text += " " + MarkdownCode(reason->difference);
  return text;
}

std::string Sites(const std::vector<Site>& sites) {
  const std::vector<SiteGroup> groups = GroupSites(sites);
  std::vector<std::string> rows;
  for (const bool fallback : {true, false}) {
    for (const SiteGroup& group : groups) {
      const Site& site = group.First();
      if ((site.action == Action::kFallback) != fallback) continue;
      rows.push_back("| " + std::string(ActionName(site.action)) + " | " +
                     std::to_string(group.sites.size()) + " | " +
                     MarkdownCode(group.sites.size() == 1 ? PathWithIndex(site.path, site.index)
                                                          : group.shape) +
                     " | " + MarkdownCode(site.name) + " | " +
                     (site.kernel ? MarkdownCode(site.kernel->ref) : "") + " | " +
                     ReasonCell(site.reason) + " |\n");
    }
  }
  if (rows.empty()) return "";
  return Table(
      "\n| action | sites | where | name | kernel | why |\n"
      "| --- | --- | --- | --- | --- | --- |\n",
      rows);
}

}  // namespace

std::string ReportToMarkdown(const Report& report) {
  return "**" + MarkdownCode(report.model_file) + "** for " +
         MarkdownCode(TargetText(report.target)) + "\n" + Sites(report.sites);
}

std::string PlanToMarkdown(const Plan& plan) {
  const std::string what = plan.config_file.empty() ? "built-in mapping" : plan.config_file;
  std::vector<std::string> rows;
  for (const PlanEntry& entry : plan.entries) {
    std::string kernel = entry.decision == Decision::kDisabled ? "disabled" : "fallback";
    if (entry.kernel) kernel = MarkdownCode(entry.kernel->ref);
    rows.push_back("| " + MarkdownCode(entry.name) + " | " + kernel + " | " +
                   ReasonCell(entry.reason) + " |\n");
  }
  return Table("**" + MarkdownCode(what) + "** for " + MarkdownCode(TargetText(plan.target)) +
                   "\n\n| name | kernel | why |\n| --- | --- | --- |\n",
               rows) +
         Sites(plan.sites);
}

}  // namespace kernelmap
