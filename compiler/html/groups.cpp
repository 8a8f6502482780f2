#include "compiler/html/groups.h"

#include <algorithm>
#include <map>

#include "compiler/catalogue.h"
#include "compiler/contains.h"
#include "compiler/site_path.h"

namespace kernelmap {
namespace {

// What makes two sites alike, as one text; parts are told apart by their lengths.
class Key {
 public:
  void Add(std::string_view text) {
    text_ += std::to_string(text.size()) + ":" + std::string(text);
  }
  void AddMaybe(const std::optional<std::string>& text) {
    text_ += text ? "+" : "-";
    if (text) Add(std::string_view(*text));
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string KeyOf(const Site& site, const std::string& shape) {
  Key key;
  for (const std::string_view text :
       {std::string_view(shape), std::string_view(site.class_name), std::string_view(site.name),
        ActionName(site.action), std::string_view(site.proof), std::string_view(site.reference),
        std::string_view(site.model_source)}) {
    key.Add(text);
  }
  if (const auto& kernel = site.kernel) {
    key.Add(std::string_view(kernel->ref));
    for (const auto* text :
         {&kernel->repo, &kernel->revision, &kernel->variant, &kernel->digest, &kernel->trust}) {
      key.AddMaybe(*text);
    }
  }
  for (const std::string& member : site.members)
    key.Add(std::string_view(PathText(ShapeOf(member))));
  for (const std::string& name : site.also) key.Add("also " + name);
  if (site.reason) {
    key.Add("reason " + site.reason->code);
    key.Add(std::string_view(site.reason->text));
    key.Add(std::string_view(site.reason->difference));
  }
  if (const auto& source = site.source) {
    key.Add("at " + source->file + ":" + std::to_string(source->line) + ":" +
            std::to_string(source->column));
  }
  return key.Take();
}

}  // namespace

std::vector<SiteGroup> GroupSites(const std::vector<Site>& sites) {
  std::vector<SiteGroup> groups;
  std::map<std::string, size_t> known;
  for (const Site& site : sites) {
    std::string shape = PathText(ShapeOf(site.path));
    const auto [found, fresh] = known.emplace(KeyOf(site, shape), groups.size());
    if (fresh) groups.push_back({std::move(shape), {}});
    groups[found->second].sites.push_back(&site);
  }
  return groups;
}

std::vector<Cause> CausesOf(const std::vector<SiteGroup>& groups) {
  std::vector<Cause> causes;
  std::map<std::vector<std::string>, size_t> known;
  std::map<std::string, size_t> of_name;
  for (const SiteGroup& group : groups) of_name[group.First().name] += group.sites.size();
  for (size_t i = 0; i < groups.size(); ++i) {
    const Site& site = groups[i].First();
    if (site.action != Action::kFallback) continue;
    const Reason reason = site.reason.value_or(Reason{});
    const auto [found, fresh] =
        known.emplace(std::vector<std::string>{site.name, site.class_name, reason.code, reason.text,
                                               reason.difference},
                      causes.size());
    if (fresh) causes.push_back({{}, 0, of_name[site.name], &site});
    Cause& cause = causes[found->second];
    cause.groups.push_back(i);
    cause.sites += groups[i].sites.size();
  }
  std::stable_sort(causes.begin(), causes.end(),
                   [](const Cause& a, const Cause& b) { return a.sites > b.sites; });
  return causes;
}

TwoSides SidesOf(const std::string& difference) {
  constexpr std::string_view kReference = "reference: ", kModel = "; model: ";
  const size_t at = difference.find(kModel);
  if (!difference.starts_with(kReference) || at == difference.npos ||
      difference.find(kModel, at + 1) != difference.npos) {
    return {};
  }
  return {difference.substr(kReference.size(), at - kReference.size()),
          difference.substr(at + kModel.size())};
}

std::string LayerOfClass(const std::string& class_name, const std::string& name) {
  for (const Layer& layer : BuiltinCatalogue().layers) {
    if (layer.function || layer.member_only || layer.name == name) continue;
    if (layer.name == class_name || Contains(layer.classes, class_name)) return layer.name;
  }
  return "";
}

}  // namespace kernelmap
