#include "compiler/archive/explain.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "compiler/archive/path_index.h"
#include "compiler/archive/sites.h"
#include "compiler/catalogue.h"
#include "compiler/display.h"
#include "compiler/path_pattern.h"
#include "compiler/plan_json.h"
#include "compiler/site_path.h"
#include "compiler/suggest.h"

namespace kernelmap {
namespace {

// "fallback, no entry maps this name [no_entry]".
std::string OutcomeText(const Site& site) {
  std::string text(ActionName(site.action));
  if (site.kernel) return text + ", " + Printable(site.kernel->ref);
  return text + ", " + Printable(site.reason->text) + " [" + site.reason->code + "]";
}

std::string WhyText(const Answer& answer, std::string_view class_name) {
  switch (answer.why) {
    case Answer::Why::kDeclared:
      return "[[model.layer]] lists the class";
    case Answer::Why::kSuffix:
      return class_name == answer.entry->name ? "the class has this name"
                                              : "the class ends with it";
    case Answer::Why::kCatalogue:
      return "the catalogue lists the class";
    case Answer::Why::kHint:
      return "the catalogue has the hint " + std::string(answer.hint);
  }
  return "";
}

std::string MappedText(const PlanEntry& entry) {
  if (!entry.from_config) return "inherited";
  return entry.source ? Printable(entry.source->file) + ":" + std::to_string(entry.source->line)
                      : "mapped";
}

// The first of the patterns that matches.
std::optional<std::string> MatchingPattern(const std::vector<std::string>& patterns,
                                           const std::string& path, const std::string& root) {
  for (const std::string& pattern : patterns) {
    if (PathMatches(path, root, {pattern})) return pattern;
  }
  return std::nullopt;
}

std::string PathsText(const PlanEntry& entry, const ArchiveModule& module, const Plan& plan) {
  const std::string behind =
      plan.model_root.empty() ? "" : ", behind the root `" + Printable(plan.model_root) + "`";
  std::string text;
  if (!entry.only.empty()) {
    const auto only = MatchingPattern(entry.only, module.path, plan.model_root);
    text += only ? "  ok    only: `" + Printable(*only) + "` matches" + behind + "\n"
                 : "  fails only: no pattern matches" + behind + "\n";
  }
  if (!entry.except.empty()) {
    const auto except = MatchingPattern(entry.except, module.path, plan.model_root);
    text += except ? "  fails except: `" + Printable(*except) + "` matches" + behind + "\n"
                   : "  ok    except: no pattern matches" + behind + "\n";
  }
  return text;
}

// The fusions that have the module as a member, or members right below it.
std::vector<const Site*> FusionsOf(const std::vector<Site>& sites, const ArchiveModule& module) {
  std::vector<const Site*> fusions;
  for (const Site& site : sites) {
    if (site.members.empty()) continue;
    const bool member =
        std::find(site.members.begin(), site.members.end(), module.path) != site.members.end();
    if (member || site.path == module.path) fusions.push_back(&site);
  }
  return fusions;
}

std::string FusionsText(const std::vector<const Site*>& fusions, const ArchiveModule& module) {
  if (fusions.empty()) return "";
  std::string text = "\nfusions\n";
  for (const Site* site : fusions) {
    std::string members;
    for (const std::string& member : site->members) {
      members += (members.empty() ? "" : " + ") + Printable(member);
    }
    text += "  " + Printable(site->name) + (site->path == module.path ? ", here" : "") + ": " +
            members + "; " + OutcomeText(*site) + "\n";
  }
  return text;
}

// The plan's functions that have a kernel: "attention, rotary_pos_emb".
std::string Functions(const Plan& plan) {
  std::string names;
  for (const PlanEntry& entry : plan.entries) {
    const Layer* layer = BuiltinCatalogue().FindLayer(entry.name);
    if (!layer || !layer->function || entry.decision != Decision::kKernel) continue;
    names += (names.empty() ? "" : ", ") + entry.name;
  }
  return names;
}

std::string NotToldText(const Site* site, const std::vector<const Site*>& fusions,
                        const ArchiveModule& module, const Plan& plan) {
  std::string text = "\nonly apply, or plan --prove, can tell\n";
  if (site && site->action == Action::kCandidate) {
    text += "  whether the code computes what " + Printable(site->name) +
            " does, and the kernel takes it\n";
    for (const std::string& other : site->also)
      text += "  if not, whether " + Printable(other) + " fits\n";
  } else {
    text += site ? "  whether the code is another mapped layer's, which then decides\n"
                 : "  whether the code is a mapped layer's, whatever its class\n";
  }
  for (const Site* fusion : fusions) {
    if (fusion->action != Action::kCandidate) continue;
    text +=
        "  whether the modules of " + Printable(fusion->name) + " are called one after the other\n";
  }
  if (const std::string functions = Functions(plan); !functions.empty()) {
    text += "  whether its forward computes a mapped function: " + functions + "\n";
  }
  if (module.opaque) text += "  what it holds: its state is kept by __setstate__\n";
  return text;
}

}  // namespace

std::string ModuleExplanation(const ModuleTree& tree, const ArchiveModule& module, const Plan& plan,
                              const std::string& model) {
  Plan with_sites = plan;
  AddModelSites(tree, &with_sites);
  const std::vector<const Site*> fusions = FusionsOf(with_sites.sites, module);
  const auto found = std::find_if(
      with_sites.sites.begin(), with_sites.sites.end(),
      [&](const Site& site) { return site.path == module.path && site.members.empty(); });
  const Site* site = found == with_sites.sites.end() ? nullptr : &*found;
  std::string text =
      Printable(PathText(module.path) + " of " + model + ", a " + module.class_name) + ", for " +
      TargetText(plan.target) + ": ";
  const bool parent = std::any_of(fusions.begin(), fusions.end(),
                                  [&](const Site* fusion) { return fusion->path == module.path; });
  text += site ? OutcomeText(*site) : parent ? "a site of fusions only" : "no site";
  text += "\n\nnames\n";
  const std::vector<Answer> answers = AnswersFor(plan, module.class_name);
  for (const Answer& answer : answers) {
    text += "  " + Printable(answer.entry->name) + ": " + WhyText(answer, module.class_name) +
            "; " + MappedText(*answer.entry) + "\n";
  }
  if (answers.empty()) text += "  none that is mapped\n";
  text += FusionsText(fusions, module);
  for (const Answer& answer : answers) {
    const PlanEntry& entry = *answer.entry;
    if (!site || entry.name != site->name) continue;
    text += "\n" + Printable(entry.name) + "\n" + TraceToText(entry.trace) +
            PathsText(entry, module, plan);
  }
  return text + NotToldText(site, fusions, module, plan);
}

std::string NameSites(const ModuleTree& tree, const Plan& plan, std::string_view name,
                      const std::string& model) {
  const std::string not_told = "\nonly apply, or plan --prove, can tell\n  which ";
  const Layer* layer = BuiltinCatalogue().FindLayer(name);
  if (layer && layer->function)
    return not_told + "modules of " + Printable(model) + " compute it\n";
  Plan copy = plan;
  AddModelSites(tree, &copy);
  std::string lines;
  size_t count = 0;
  for (const Site& site : copy.sites) {
    const bool first = site.name == name;
    if (!first && std::find(site.also.begin(), site.also.end(), name) == site.also.end()) continue;
    ++count;
    lines += "  " + Printable(PathText(site.path) + "  " + site.class_name) + "  ";
    if (!first) lines += "after " + Printable(site.name) + ": ";
    lines += std::string(ActionName(site.action));
    if (site.reason) lines += " [" + site.reason->code + "]";
    lines += "\n";
  }
  return "\nsites in " + Printable(model) + " (" + std::to_string(count) + ")\n" + lines +
         (layer ? not_told + "modules have its code, whatever their class\n" : "");
}

std::string LikelyPath(const ModuleTree& tree, const Plan& plan, const std::string& path) {
  const PathIndex index(tree);
  const auto there = [&](const std::string& text) { return index.Matches(text); };
  const std::string rooted = plan.model_root + "." + path;
  if (!plan.model_root.empty() && there(rooted)) return rooted;
  if (const auto below = index.MatchesBelow(path); below && !below->empty()) {
    return *below + "." + path;
  }
  for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
    if (there(path.substr(dot + 1))) return path.substr(dot + 1);
  }
  const PathIndex::Miss miss = index.FirstMiss(path);
  const std::string nearest = Nearest(path.substr(miss.begin, miss.end - miss.begin), miss.names);
  if (nearest.empty()) return "";
  std::string spelled = path;
  spelled.replace(miss.begin, miss.end - miss.begin, nearest);
  return there(spelled) ? spelled : "";
}

}  // namespace kernelmap
