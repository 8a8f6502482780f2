// Config to plan: for each name, the five steps of choosing a kernel.
#include <map>
#include <utility>

#include "compiler/candidate.h"
#include "compiler/catalogue.h"
#include "compiler/compile.h"
#include "compiler/plan_json.h"
#include "compiler/select.h"

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

// What maps one name.
struct Sources {
  const Mapping* own = nullptr;
  std::vector<const Mapping*> inherited;
};

class NameResolver {
 public:
  NameResolver(std::string name, const Mapping* own, std::vector<const Mapping*> inherited,
               const Config* config, const Target& target, const Environment& environment,
               const Store& store)
      : own_(own),
        inherited_(std::move(inherited)),
        config_(config),
        target_(target),
        environment_(environment),
        store_(store) {
    entry_.name = std::move(name);
    entry_.from_config = own != nullptr;
  }

  PlanEntry Run() {
    if (own_) entry_.source = PositionOf(own_->span);
    const std::vector<DeviceChoice> entries = EntriesForDevice(own_, inherited_, target_.device);
    if (entries.empty()) {
      return Fallback("entry", "no_kernel_for_device",
                      "no entry of " + entry_.name + " is for " + target_.device);
    }
    const DeviceChoice* choice = SmallestInterval(entries, target_.capability);
    if (!choice) {
      const std::string capability = CapabilityText(target_.capability);
      return Fallback("capability", "capability",
                      capability.empty()
                          ? "every entry for " + target_.device +
                                " has bounds, and the target's capability is not known"
                          : "no entry for " + target_.device + " holds " + capability);
    }
    const DeviceSelector selector{target_.device, choice->interval};
    if (choice->interval.Bounded()) entry_.interval = selector.Text();
    entry_.from_config = choice->from_config;
    entry_.source.reset();
    if (choice->from_config) entry_.source = PositionOf(choice->entry->span);
    Pass("entry", Origin(*choice));
    if (HasCapability(target_.device)) {
      Pass("capability", "`" + selector.Text() + "` is the smallest interval that holds " +
                             (target_.capability ? CapabilityText(target_.capability)
                                                 : std::string("an unknown capability")));
    }
    const ModeValue* mode = FirstFittingMode(*choice->entry, target_.mode);
    if (!mode) {
      return Fallback("mode", "mode", "`" + selector.Text() + "` has no value for " + target_.mode);
    }
    entry_.mode = mode->mode ? mode->mode->Text() : "fallback";
    Pass("mode", "`" + entry_.mode + "` is the first that fits " + target_.mode);
    return Candidates(mode->value, mode->mode.value_or(Mode{.fallback = true}));
  }

 private:
  std::optional<Position> PositionOf(Span span) const {
    const LineColumn at = config_->source->Locate(span.begin);
    return Position{config_->source->BaseName(), at.line, at.column};
  }

  void Pass(std::string step, std::string text) {
    entry_.trace.push_back({std::move(step), true, std::move(text)});
  }

  PlanEntry Fallback(std::string step, std::string code, std::string text) {
    entry_.trace.push_back({std::move(step), false, text});
    entry_.decision = Decision::kFallback;
    entry_.reason = Reason{std::move(code), std::move(text), ""};
    return std::move(entry_);
  }

  std::string Origin(const DeviceChoice& choice) const {
    const std::string what = choice.entry->selector
                                 ? "an entry for `" + choice.entry->selector->Text() + "`"
                                 : std::string("an entry for any device");
    if (!choice.from_config)
      return what + ", inherited from the " +
             (config_ ? config_->default_mapping.value : "builtin") + " mapping";
    const LineColumn at = config_->source->Locate(choice.entry->span.begin);
    return what + ", " + config_->source->BaseName() + ":" + std::to_string(at.line);
  }

  PlanEntry Candidates(const Value& value, const Mode& mode) {
    if (entry_.from_config) entry_.source = PositionOf(value.span);
    if (value.disabled) {
      entry_.trace.push_back({"candidate", false, entry_.name + " is mapped to \"\""});
      entry_.decision = Decision::kDisabled;
      entry_.reason = Reason{"disabled", "mapped to \"\"", ""};
      return std::move(entry_);
    }
    const CandidateContext context{entry_.name,        target_, environment_, store_, config_,
                                   entry_.from_config, mode};
    std::optional<CandidateResult> first;
    for (const Candidate& candidate : value.candidates) {
      Pass("candidate", "`" + RefLabel(candidate.ref, config_) + "`");
      CandidateResult result = JudgeCandidate(candidate, context, &entry_.trace);
      if (result.kernel) {
        Take(candidate);
        entry_.decision = Decision::kKernel;
        entry_.kernel = std::move(result.kernel);
        entry_.code = std::move(result.code);
        return std::move(entry_);
      }
      if (!first) {
        Take(candidate);
        first = std::move(result);
      }
    }
    // Of several that cannot be used the first was wanted most.
    entry_.decision = first->turned_off ? Decision::kDisabled : Decision::kFallback;
    entry_.reason = std::move(first->reason);
    return std::move(entry_);
  }

  void Take(const Candidate& candidate) {
    entry_.only = candidate.only;
    entry_.except = candidate.except;
    entry_.guard = candidate.guard;
    if (entry_.from_config) entry_.source = PositionOf(candidate.span);
  }

  PlanEntry entry_;
  const Mapping* own_;
  std::vector<const Mapping*> inherited_;
  const Config* config_;
  const Target& target_;
  const Environment& environment_;
  const Store& store_;
};

}  // namespace

Plan Resolve(const Config* config, const Target& target, const Environment& environment,
             const Store& store) {
  Plan plan;
  plan.target = target;
  if (config) {
    plan.config_file = config->source->BaseName();
    plan.config_sha256 = config->sha256;
    plan.model_root = config->model_root;
    plan.model_inputs = config->model_inputs;
    plan.extra_classes = config->extra_classes;
    plan.error_on_fallback = config->on_fallback.value == "error";
  }
  const Layers layers = InheritedLayers(config);
  static const std::vector<Mapping> none;
  const std::vector<Mapping>& own = config ? config->mappings : none;
  std::map<std::string_view, Sources> names;
  for (const Mapping& mapping : own) names[mapping.name].own = &mapping;
  for (const std::vector<Mapping>* layer : layers) {
    for (const Mapping& mapping : *layer) names[mapping.name].inherited.push_back(&mapping);
  }
  for (auto& [name, sources] : names) {
    plan.entries.push_back(NameResolver(std::string(name), sources.own,
                                        std::move(sources.inherited), config, target, environment,
                                        store)
                               .Run());
  }
  return plan;
}

}  // namespace kernelmap
