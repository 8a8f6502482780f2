// Plans and reports as pages for people, and reports as Markdown.
#pragma once

#include <string>

#include "compiler/html/sites.h"
#include "compiler/plan.h"
#include "compiler/report.h"

namespace kernelmap {

/// A page by itself: why sites were left, how many each action has, every site. With JavaScript
/// also the tree of modules, filters, and a site's details on choosing it. The same report gives
/// the same bytes. `errors` are of `kernelmap verify`.
std::string ReportToHtml(const Report& report, const SiteErrors& errors = {});
/// The same with the plan's entries and their traces.
std::string PlanToHtml(const Plan& plan);

/// As tables, equal sites in one row, at most a hundred rows and 20 kB a table.
std::string ReportToMarkdown(const Report& report);
std::string PlanToMarkdown(const Plan& plan);

}  // namespace kernelmap
