#include "compiler/html/sites.h"

#include <algorithm>

#include "compiler/diff/escape.h"
#include "compiler/diff/view.h"
#include "compiler/html/page.h"
#include "compiler/reasons.h"
#include "compiler/site_path.h"
#include "compiler/words.h"

namespace kernelmap {
namespace {

// In the order in which people want to know.
constexpr Action kActions[] = {Action::kFallback, Action::kCandidate, Action::kReplaced,
                               Action::kFused,    Action::kAlready,   Action::kExcluded,
                               Action::kDisabled};

std::string_view SignOf(Action action) {
  switch (action) {
    case Action::kReplaced:
      return "✓";
    case Action::kFused:
      return "⧉";
    case Action::kAlready:
      return "=";
    case Action::kExcluded:
      return "−";
    case Action::kDisabled:
      return "○";
    case Action::kFallback:
      return "!";
    case Action::kCandidate:
      return "?";
  }
  return "";
}

std::string_view ProofText(const std::string& proof) {
  if (proof == "semantic") return "the code was proved to compute the reference";
  if (proof == "numeric") return "both gave the same on sample inputs";
  if (proof == "name") return "the class's name was trusted";
  return "";
}

std::string Anchor(size_t group) { return "site-" + std::to_string(group + 1); }

std::string ErrorOf(const Site& site, const SiteErrors& errors) {
  const auto found = errors.find({site.path, site.name});
  return found == errors.end() ? ""
                               : " <span class=\"error\">" + HtmlText(found->second) + "</span>";
}

std::string FactsOf(const Site& site) {
  std::string html = "<dl>\n" + FactHtml("name", HtmlCode(site.name));
  html += FactHtml("class", HtmlCode(site.class_name));
  html += FactHtml("also answers to", HtmlCodes(site.also));
  html += ReasonFactsHtml(site.reason);
  html += KernelFactsHtml(site.kernel);
  if (!site.proof.empty()) {
    html += FactHtml("proof", HtmlText(site.proof) + ": " + HtmlText(ProofText(site.proof)));
  }
  html += FactHtml("reference", HtmlCode(site.reference));
  html += FactHtml("model source", HtmlCode(site.model_source));
  if (const auto& source = site.source) {
    html += FactHtml("config entry", HtmlCode(source->file + ":" + std::to_string(source->line) +
                                              ":" + std::to_string(source->column)));
  }
  return html + "</dl>\n";
}

std::string GroupHtml(const SiteGroup& group, size_t number, const SiteErrors& errors) {
  const Site& site = group.First();
  const std::string action(ActionName(site.action));
  const size_t count = group.sites.size();
  std::string html = "<details class=\"site " + action + "\" id=\"" + Anchor(number) +
                     "\" data-action=\"" + action + "\" data-reason=\"" +
                     HtmlText(site.reason ? site.reason->code : "") + "\">\n<summary>" +
                     ActionMark(site.action) + " ";
  html += HtmlCode(count == 1 ? PathWithIndex(site.path, site.index) : group.shape);
  if (count > 1) html += " <b>" + CountOf(count, "site") + "</b>";
  html += " <span class=\"what\">" + HtmlText(site.name);
  if (site.kernel) html += " → " + HtmlText(site.kernel->ref);
  if (site.reason) html += ": " + HtmlText(site.reason->text);
  html += "</span></summary>\n" + FactsOf(site) + "<ul class=\"paths\">\n";
  for (const Site* each : group.sites) {
    html += "<li>" + HtmlCode(PathWithIndex(each->path, each->index));
    if (!each->members.empty()) html += " = " + HtmlCodes(each->members);
    html += ErrorOf(*each, errors) + "</li>\n";
  }
  return html + "</ul>\n</details>\n";
}

std::string CauseHtml(const Cause& cause, const std::vector<SiteGroup>& groups) {
  constexpr size_t kMaxLinks = 12;
  const Site& site = *cause.first;
  std::string html = "<article class=\"cause\">\n<h3>" + ActionMark(Action::kFallback) + " " +
                     std::to_string(cause.sites) + " of " + CountOf(cause.of_name, "site") +
                     " of " + HtmlCode(site.name);
  if (site.class_name != site.name && !site.class_name.empty()) {
    html += ", class " + HtmlCode(site.class_name);
  }
  html += "</h3>\n<dl>\n" + ReasonFactsHtml(site.reason);
  html += FactHtml("model source", HtmlCode(site.model_source));
  if (const std::string layer = LayerOfClass(site.class_name, site.name); !layer.empty()) {
    html += FactHtml("what may help", "kernelmap knows " + HtmlCode(site.class_name) +
                                          " as a layer of its own: map the name " +
                                          HtmlCode(layer) + " to a kernel too");
  }
  html += "</dl>\n<p>Where: ";
  for (size_t i = 0; i < cause.groups.size() && i < kMaxLinks; ++i) {
    const SiteGroup& group = groups[cause.groups[i]];
    html += (i > 0 ? ", " : "") + ("<a href=\"#" + Anchor(cause.groups[i])) + "\">" +
            HtmlCode(group.shape) + "</a>";
    if (group.sites.size() > 1) html += " (" + std::to_string(group.sites.size()) + ")";
  }
  if (cause.groups.size() > kMaxLinks) {
    html += " and " + std::to_string(cause.groups.size() - kMaxLinks) + " more, below";
  }
  return html + "</p>\n</article>\n";
}

}  // namespace

std::string ActionMark(Action action) {
  const std::string word(ActionName(action));
  return "<span class=\"mark " + word + "\"><span aria-hidden=\"true\">" +
         std::string(SignOf(action)) + "</span> " + word + "</span>";
}

std::string CountsHtml(const std::vector<Site>& sites) {
  std::string html = "<ul class=\"counts\">\n";
  for (const Action action : kActions) {
    const auto count = std::count_if(sites.begin(), sites.end(),
                                     [&](const Site& site) { return site.action == action; });
    if (count > 0) {
      html += "<li><b>" + std::to_string(count) + "</b> " + ActionMark(action) + "</li>\n";
    }
  }
  return html + "</ul>\n";
}

std::string CausesHtml(const std::vector<SiteGroup>& groups) {
  constexpr size_t kMaxCauses = 50;
  const std::vector<Cause> causes = CausesOf(groups);
  if (causes.empty()) return "";
  std::string html = "<section id=\"why\">\n<h2>Why sites were left</h2>\n";
  for (size_t i = 0; i < causes.size() && i < kMaxCauses; ++i) {
    html += CauseHtml(causes[i], groups);
  }
  if (causes.size() > kMaxCauses) {
    html += "<p>" + std::to_string(causes.size() - kMaxCauses) +
            " more causes, of fewer sites each: see the sites.</p>\n";
  }
  return html + "</section>\n";
}

std::string SiteListHtml(const std::vector<SiteGroup>& groups, const SiteErrors& errors) {
  std::string html = "<section id=\"sites\">\n<h2>Sites</h2>\n";
  if (groups.empty()) {
    html += "<p>No module answers to a mapped name, and no code was proved to be one.</p>\n";
  }
  html += "<div id=\"list\">\n";
  for (const Action action : kActions) {
    for (size_t i = 0; i < groups.size(); ++i) {
      if (groups[i].First().action == action) html += GroupHtml(groups[i], i, errors);
    }
  }
  return html + "</div>\n</section>\n";
}

std::string ProseHtml(std::string_view text) {
  std::string html;
  for (bool code = false;; code = !code) {
    const size_t end = text.find('`');
    html += code ? HtmlCode(text.substr(0, end)) : HtmlText(text.substr(0, end));
    if (end == text.npos) return html;
    text.remove_prefix(end + 1);
  }
}

std::string FactHtml(std::string_view name, const std::string& value) {
  if (value.empty()) return "";
  return "<dt>" + std::string(name) + "</dt><dd>" + value + "</dd>\n";
}

std::string KernelFactsHtml(const std::optional<KernelUse>& kernel) {
  if (!kernel) return "";
  return FactHtml("kernel", HtmlCode(kernel->ref)) +
         FactHtml("repository", HtmlCode(kernel->repo.value_or(""))) +
         FactHtml("revision", HtmlCode(kernel->revision.value_or(""))) +
         FactHtml("variant", HtmlCode(kernel->variant.value_or(""))) +
         FactHtml("digest", HtmlCode(kernel->digest.value_or(""))) +
         FactHtml("trust", HtmlText(kernel->trust.value_or("")));
}

std::string ReasonFactsHtml(const std::optional<Reason>& reason) {
  if (!reason) return "";
  std::string html = FactHtml(
      "why", "<b>" + HtmlText(reason->text) + "</b> " + HtmlCode("[" + reason->code + "]"));
  const TwoSides sides = SidesOf(reason->difference);
  if (sides.reference.empty()) {
    html += FactHtml("difference", HtmlCode(reason->difference));
  } else {
    html += FactHtml("the reference has", HtmlCode(sides.reference)) +
            FactHtml("the model has", HtmlCode(sides.model));
  }
  const ReasonKind* kind = FindReason(reason->code);
  return html + (kind ? FactHtml("that means", ProseHtml(kind->explanation)) : "");
}

}  // namespace kernelmap
