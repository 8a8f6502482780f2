// Config to plan: each name that is mapped, attention, and each fusion.
#include "compiler/resolve.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "compiler/catalogue.h"

namespace kernelmap {
namespace {

// Inherited mappings are written in the language itself. A later one lies over the earlier.
using Layers = std::vector<const std::vector<Mapping>*>;

const std::vector<Mapping>& EmbeddedMappings(bool transformers) {
  static const Loaded builtin =
      LoadConfigText("default_mapping.toml", std::string(DefaultMappingText()));
  static const Loaded hub =
      LoadConfigText("transformers_mapping.toml", std::string(TransformersMappingText()));
  static const std::vector<Mapping> none;
  const Loaded& loaded = transformers ? hub : builtin;
  return loaded.config ? loaded.config->mappings : none;
}

Layers InheritedLayers(const Config* config) {
  Layers layers;
  if (config && (!config->inherit_mapping.value || config->use_local_kernel.value)) return layers;
  layers.push_back(&EmbeddedMappings(false));
  if (config && config->default_mapping.value == "transformers") {
    layers.push_back(&EmbeddedMappings(true));
  }
  return layers;
}

}  // namespace

Plan Resolve(const Config* config, const Target& target, const Environment& environment,
             const Store& store) {
  Plan plan;
  plan.target = target;
  if (config) {
    plan.config_file = config->source->BaseName();
    plan.config_sha256 = config->sha256;
    plan.model_root = config->model_root.value;
    plan.model_inputs = config->model_inputs;
    for (const ExtraLayer& extra : config->extra_classes) {
      plan.extra_classes.push_back({extra.name, extra.class_name});
    }
    plan.error_on_fallback = config->on_fallback.value == "error";
  }
  const Layers layers = InheritedLayers(config);
  std::map<std::string, const Mapping*> own;
  std::map<std::string, std::vector<const Mapping*>> inherited;
  std::set<std::string> names;
  if (config) {
    for (const Mapping& mapping : config->mappings) own[mapping.name] = &mapping;
    if (const auto& attention = config->attn_implementation) own[attention->name] = &*attention;
  }
  for (const auto& [name, mapping] : own) names.insert(name);
  for (const std::vector<Mapping>* layer : layers) {
    for (const Mapping& mapping : *layer) {
      names.insert(mapping.name);
      inherited[mapping.name].push_back(&mapping);
    }
  }
  for (const std::string& name : names) {
    const auto mine = own.find(name);
    const auto theirs = inherited.find(name);
    plan.entries.push_back(ResolveEntry(
        {.name = name,
         .own = mine == own.end() ? nullptr : mine->second,
         .inherited = theirs == inherited.end() ? std::vector<const Mapping*>{} : theirs->second,
         .modules = {},
         .config = config,
         .target = target,
         .environment = environment,
         .store = store}));
  }
  if (config) {
    for (const Fusion& fusion : config->fusions) {
      std::vector<FusionModule> modules;
      for (const FusionPart& part : fusion.parts) modules.push_back({part.name, part.pattern.text});
      plan.entries.push_back(ResolveEntry({.name = fusion.mapping.name,
                                           .own = &fusion.mapping,
                                           .inherited = {},
                                           .modules = std::move(modules),
                                           .config = config,
                                           .target = target,
                                           .environment = environment,
                                           .store = store}));
    }
  }
  std::stable_sort(plan.entries.begin(), plan.entries.end(),
                   [](const PlanEntry& a, const PlanEntry& b) { return a.name < b.name; });
  return plan;
}

}  // namespace kernelmap
