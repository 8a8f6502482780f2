// What only the whole config shows. A check is a function in a list.
#include <strings.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "compiler/catalogue.h"
#include "compiler/check.h"
#include "compiler/suggest.h"
#include "compiler/version.h"

namespace kernelmap {
namespace {

bool Overlap(const Interval& a, const Interval& b) { return a.low <= b.high && b.low <= a.high; }

bool Within(const Interval& inner, const Interval& outer) {
  return outer.low <= inner.low && inner.high <= outer.high;
}

// The intervals that the entries of a name have for one device, each once.
struct DeviceIntervals {
  std::map<std::pair<int, int>, const DeviceEntry*> first;
  std::vector<const DeviceEntry*> different;  // the first ones, which overlaps are looked for in
};
constexpr size_t kMaxCompared = 200;

void CheckEntry(const DeviceEntry& entry, DeviceIntervals* intervals, Diagnostics* diagnostics) {
  const DeviceSelector& selector = *entry.selector;
  const Interval& own = selector.interval;
  const auto [same, is_first] = intervals->first.emplace(std::pair(own.low, own.high), &entry);
  if (!is_first) {
    diagnostics->Report<Diag::DuplicateInterval>(entry.span, selector.Text())
        .Note(same->second->span, "first here");
    return;
  }
  for (const DeviceEntry* earlier : intervals->different) {
    const Interval& other = earlier->selector->interval;
    if (!Overlap(own, other) || Within(own, other) || Within(other, own)) continue;
    diagnostics
        ->Report<Diag::OverlappingIntervals>(entry.span, earlier->selector->Text(), selector.Text())
        .Note(earlier->span, "the other");
    break;  // one warning an entry
  }
  if (intervals->different.size() < kMaxCompared) intervals->different.push_back(&entry);
}

void CheckIntervals(const Config& config, Diagnostics* diagnostics) {
  ForEachMapping(config, [&](const Mapping& mapping) {
    std::map<std::string_view, DeviceIntervals> devices;
    for (const DeviceEntry& entry : mapping.entries) {
      if (entry.selector) CheckEntry(entry, &devices[entry.selector->device], diagnostics);
    }
  });
}

void CheckModes(const Config& config, Diagnostics* diagnostics) {
  ForEachMapping(config, [&](const Mapping& mapping) {
    for (const DeviceEntry& entry : mapping.entries) {
      std::map<std::string, Span> first;  // a mode as text, its words in one order
      for (const ModeValue& value : entry.modes) {
        if (!value.mode) continue;
        const auto [same, is_first] = first.emplace(value.mode->Text(), value.span);
        if (!is_first) {
          diagnostics->Report<Diag::DuplicateMode>(value.span, same->first)
              .Note(same->second, "first here");
        } else if (*value.mode == Mode{.torch_compile = true}) {
          diagnostics->Report<Diag::NeverChosenMode>(value.span)
              .Help("write `inference|torch_compile` or `training|torch_compile`");
        }
      }
    }
  });
}

void CheckLocal(const Config& config, Diagnostics* diagnostics) {
  const bool local = config.use_local_kernel.value;
  ForEachCandidate(config, [&](const Candidate& candidate) {
    const KernelRef& ref = candidate.ref;
    if (local && ref.kind == KernelRef::Kind::kHub) {
      auto addition = diagnostics->Report<Diag::LocalOnly>(candidate.span, ref.text);
      addition.Note(*config.use_local_kernel.span, "`use_local_kernel` is here");
    } else if (!local && ref.kind == KernelRef::Kind::kLocal) {
      diagnostics->Report<Diag::LocalNotAllowed>(candidate.span, ref.text)
          .Help("set use_local_kernel = true to use local kernels");
    }
  });
  if (local && config.inherit_mapping.span && config.inherit_mapping.value) {
    diagnostics->Report<Diag::InheritIgnored>(*config.inherit_mapping.span)
        .Note(*config.use_local_kernel.span, "`use_local_kernel` is here");
  }
}

void CheckAttention(const Config& config, Diagnostics* diagnostics) {
  if (!config.attn_implementation) return;
  for (const Mapping& mapping : config.mappings) {
    if (mapping.name != "attention") continue;
    diagnostics->Report<Diag::AttentionTwice>(config.attn_implementation->span)
        .Note(mapping.span, "`attention` is mapped here");
  }
}

// Near to a known name, but no mistyped one: SELU beside GeLU; the function silu_and_mul beside the
// class SiluAndMul.
bool IsNameOfItsOwn(const std::string& text, const std::string& nearest) {
  constexpr size_t kShort = 5;
  std::string letters = text;
  std::erase(letters, '_');
  const bool same = strcasecmp(letters.c_str(), nearest.c_str()) == 0;
  return same ? letters != text && nearest.find('_') == std::string::npos : text.size() <= kShort;
}

// A name that the mapping of transformers has, of a layer that no reference is known for: each line
// of it begins with one.
bool IsNameOfTransformers(const std::string& text) {
  return TransformersMappingText().find("\n" + text + ".") != std::string_view::npos;
}

void CheckNames(const Config& config, Diagnostics* diagnostics) {
  std::vector<std::string> layers, all;
  for (const Layer& layer : BuiltinCatalogue().layers) {
    if (!layer.function) layers.push_back(layer.name);
    if (!layer.member_only) all.push_back(layer.name);
  }
  std::unordered_set<std::string_view> declared;
  for (const ExtraLayer& extra : config.extra_classes) declared.insert(extra.name);
  const auto check = [&](const std::string& text, Span span,
                         const std::vector<std::string>& names) {
    // A longer name that ends with a known one is a class of its own: LlamaRMSNorm.
    const bool known = std::any_of(names.begin(), names.end(),
                                   [&](const std::string& name) { return text.ends_with(name); });
    if (known || declared.count(text) > 0) return;
    const std::string nearest = Nearest(text, names);
    if (nearest.empty() || IsNameOfItsOwn(text, nearest) || IsNameOfTransformers(text)) return;
    diagnostics->Report<Diag::UnknownName>(span, text).Help("did you mean `" + nearest + "`?");
  };
  for (const Mapping& mapping : config.mappings) check(mapping.name, mapping.span, all);
  for (const Fusion& fusion : config.fusions) {
    for (const FusionPart& part : fusion.parts) check(part.name, part.name_span, layers);
  }
}

bool Implements(const Kernel& kernel, std::string_view layer) {
  return std::any_of(kernel.implementations.begin(), kernel.implementations.end(),
                     [&](const Implementation& other) { return other.layer == layer; });
}

// Names of classes may be mapped to any built-in kernel: there the code decides.
void CheckBuiltins(const Config& config, Diagnostics* diagnostics) {
  for (const Mapping& mapping : config.mappings) {
    if (!BuiltinCatalogue().FindLayer(mapping.name)) continue;
    std::string help;
    for (const Kernel& kernel : BuiltinCatalogue().kernels) {
      if (!Implements(kernel, mapping.name)) continue;
      help += (help.empty() ? "of the built-in kernels these do: `builtin:" : ", `builtin:") +
              kernel.name + "`";
    }
    ForEachCandidateOf(mapping, [&](const Candidate& candidate) {
      if (candidate.ref.kind != KernelRef::Kind::kBuiltin) return;
      const Kernel* kernel = BuiltinCatalogue().FindKernel(candidate.ref.name);
      if (!kernel || Implements(*kernel, mapping.name)) return;
      diagnostics->Report<Diag::OtherLayer>(candidate.span, candidate.ref.text, mapping.name)
          .Help(help.empty() ? "no built-in kernel does" : help);
    });
  }
}

void CheckExtraClasses(const Config& config, Diagnostics* diagnostics) {
  std::vector<std::string> names;
  for (const Layer& layer : BuiltinCatalogue().layers) {
    if (!layer.function) names.push_back(layer.name);
  }
  for (const Mapping& mapping : config.mappings) names.push_back(mapping.name);
  const std::set<std::string> known(names.begin(), names.end());
  for (const ExtraLayer& extra : config.extra_classes) {
    if (known.contains(extra.name)) continue;
    diagnostics->Report<Diag::UnknownLayer>(extra.name_span, extra.name).Help([&] {
      return DidYouMean(extra.name, names);
    });
  }
}

void CheckTargetBackends(const Config& config, Diagnostics* diagnostics) {
  const TargetSettings& target = config.target;
  if (!target.device.value) return;
  const std::pair<const char*, const Setting<std::optional<std::string>>*> backends[] = {
      {"cuda", &target.cuda}, {"rocm", &target.rocm}, {"xpu", &target.xpu}};
  for (const auto& [device, setting] : backends) {
    if (!setting->value || *target.device.value == device) continue;
    diagnostics->Report<Diag::BackendOfOtherDevice>(*setting->span, device, *target.device.value);
  }
}

void CheckSpecifiers(const Config& config, Diagnostics* diagnostics) {
  ForEachCandidate(config, [&](const Candidate& candidate) {
    const std::optional<Revision>& revision = candidate.ref.revision;
    if (!revision || !Unsatisfiable(revision->comparisons)) return;
    diagnostics->Report<Diag::NoSuchVersion>(revision->span, revision->text);
  });
}

constexpr std::array kChecks = {CheckIntervals,    CheckModes,   CheckLocal,
                                CheckAttention,    CheckNames,   CheckBuiltins,
                                CheckExtraClasses, CheckFusions, CheckTargetBackends,
                                CheckShadowed,     CheckTrust,   CheckSpecifiers};

}  // namespace

void CheckConfig(const Config& config, Diagnostics* diagnostics) {
  for (const auto check : kChecks) check(config, diagnostics);
}

}  // namespace kernelmap
