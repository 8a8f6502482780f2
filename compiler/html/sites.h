// The parts of a page that plans and reports share: counts, why sites were left, and every site.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/html/groups.h"
#include "compiler/plan.h"

namespace kernelmap {

/// How far apart outputs of a site were when `kernelmap verify` ran it, as text, by path and name.
using SiteErrors = std::map<std::pair<std::string, std::string>, std::string>;

/// "! fallback" with a sign that stands for the word's colour too.
std::string ActionMark(Action action);
/// A list of how many sites each action has.
std::string CountsHtml(const std::vector<Site>& sites);
/// Why sites were left: a card a cause, with links to the sites. "" where no site is a fallback.
std::string CausesHtml(const std::vector<SiteGroup>& groups);
/// All groups, fallbacks first, each to be opened.
std::string SiteListHtml(const std::vector<SiteGroup>& groups, const SiteErrors& errors);
/// Text whose parts between backticks are code.
std::string ProseHtml(std::string_view text);
/// A row of a <dl>; "" where `value`, which is markup, is empty.
std::string FactHtml(std::string_view name, const std::string& value);
/// Ref, repository, revision and so on, as rows.
std::string KernelFactsHtml(const std::optional<KernelUse>& kernel);
/// Text, code, explanation and difference, as rows.
std::string ReasonFactsHtml(const std::optional<Reason>& reason);

}  // namespace kernelmap
