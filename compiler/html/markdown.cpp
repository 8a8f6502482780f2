// Reports and plans as Markdown: a comment for a pull request.
#include "compiler/diff/escape.h"
#include "compiler/diff/view.h"
#include "compiler/html/html.h"
#include "compiler/plan_json.h"

namespace kernelmap {
namespace {

constexpr size_t kMaxRows = 100;  // with longer texts cut, below the 65,536 characters of GitHub

std::string More(size_t rows) {
  return rows > kMaxRows ? "\n" + CountOf(rows - kMaxRows, "row") + " more\n" : "";
}

std::string ReasonCell(const std::optional<Reason>& reason) {
  if (!reason) return "";
  std::string text = MarkdownCode(reason->text + " [" + reason->code + "]");
  if (!reason->difference.empty()) text += " " + MarkdownCode(reason->difference);
  return text;
}

std::string Sites(const std::vector<Site>& sites) {
  const std::vector<SiteGroup> groups = GroupSites(sites);
  std::string text = "\n| action | sites | where | name | kernel | why |\n";
  text += "| --- | --- | --- | --- | --- | --- |\n";
  size_t rows = 0;
  for (const bool fallback : {true, false}) {
    for (const SiteGroup& group : groups) {
      const Site& site = group.First();
      if ((site.action == Action::kFallback) != fallback || ++rows > kMaxRows) continue;
      text += "| " + std::string(ActionName(site.action)) + " | " +
              std::to_string(group.sites.size()) + " | " +
              MarkdownCode(group.sites.size() == 1 ? PathWithIndex(site) : group.shape) + " | " +
              MarkdownCode(site.name) + " | " +
              (site.kernel ? MarkdownCode(site.kernel->ref) : "") + " | " +
              ReasonCell(site.reason) + " |\n";
    }
  }
  return groups.empty() ? "" : text + More(groups.size());
}

}  // namespace

std::string ReportToMarkdown(const Report& report) {
  return "**" + MarkdownCode(report.model_file) + "** for " + TargetText(report.target) + "\n" +
         Sites(report.sites);
}

std::string PlanToMarkdown(const Plan& plan) {
  std::string text =
      "**" + MarkdownCode(plan.config_file.empty() ? "built-in mapping" : plan.config_file) +
      "** for " + TargetText(plan.target) + "\n\n| name | kernel | why |\n| --- | --- | --- |\n";
  for (size_t i = 0; i < plan.entries.size() && i < kMaxRows; ++i) {
    const PlanEntry& entry = plan.entries[i];
    text += "| " + MarkdownCode(entry.name) + " | " +
            (entry.kernel                            ? MarkdownCode(entry.kernel->ref)
             : entry.decision == Decision::kDisabled ? "disabled"
                                                     : "fallback") +
            " | " + ReasonCell(entry.reason) + " |\n";
  }
  return text + More(plan.entries.size()) + Sites(plan.sites);
}

}  // namespace kernelmap
