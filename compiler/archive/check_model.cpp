#include "compiler/archive/check_model.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "compiler/archive/file.h"
#include "compiler/archive/path_index.h"
#include "compiler/catalogue.h"
#include "compiler/check.h"
#include "compiler/fusion_sites.h"
#include "compiler/plan.h"
#include "compiler/suggest.h"

namespace kernelmap {
namespace {

// Bounds on looking for something better to write.
constexpr size_t kMaxHelp = 50;      // mistakes of one kind
constexpr size_t kMaxWords = 2'000;  // names that a mistyped one is compared with

std::string NearestOf(std::string_view text, std::vector<std::string> words) {
  if (words.size() > kMaxWords) words.resize(kMaxWords);
  return Nearest(text, words);
}

std::string DidYouMean(std::string_view text) {
  return text.empty() ? "" : "did you mean `" + std::string(text) + "`?";
}

// The patterns of a config.
std::vector<const PathPattern*> PatternsOf(const Config& config) {
  std::vector<const PathPattern*> patterns;
  ForEachCandidate(config, [&](const Candidate& candidate) {
    for (const PathPattern& pattern : candidate.only) patterns.push_back(&pattern);
    for (const PathPattern& pattern : candidate.except) patterns.push_back(&pattern);
  });
  for (const Fusion& fusion : config.fusions) {
    for (const FusionPart& part : fusion.parts) patterns.push_back(&part.pattern);
  }
  return patterns;
}

std::string Joined(std::string_view root, std::string_view pattern) {
  if (root.empty()) return std::string(pattern);
  return std::string(root) + "." + std::string(pattern);
}

bool HasNumber(std::string_view path) {
  bool start = true;
  for (const char c : path) {
    if (start && std::isdigit(static_cast<unsigned char>(c))) return true;
    start = c == '.';
  }
  return false;
}

// `layers.0.mlp` as `layers.*.mlp`.
std::string Generalised(std::string_view path) {
  std::string pattern;
  while (true) {
    const size_t dot = path.find('.');
    const std::string_view segment = path.substr(0, dot);
    pattern += HasNumber(segment) ? "*" : std::string(segment);
    if (dot == std::string_view::npos) return pattern;
    pattern += ".";
    path.remove_prefix(dot + 1);
  }
}

// The pattern with the segment that matches nothing replaced by the nearest name there is.
std::string Spelled(const PathIndex& index, const std::string& pattern) {
  const PathIndex::Miss miss = index.FirstMiss(pattern);
  const std::string nearest =
      NearestOf(std::string_view(pattern).substr(miss.begin, miss.end - miss.begin), miss.names);
  if (nearest.empty()) return "";
  std::string spelled = pattern;
  spelled.replace(miss.begin, miss.end - miss.begin, nearest);
  return index.Matches(spelled) ? spelled : "";
}

// What to write for a pattern that matches nothing, as a sentence; or nothing.
std::string HelpForPattern(const PathIndex& index, const std::string& root,
                           const std::string& pattern) {
  const std::string prefix = root.empty() ? "" : root + ".";
  if (!root.empty() && pattern.starts_with(prefix) && index.Matches(pattern)) {
    return DidYouMean(pattern.substr(prefix.size()));
  }
  for (size_t dot = pattern.find('.'); dot != std::string::npos; dot = pattern.find('.', dot + 1)) {
    const std::string rest = pattern.substr(dot + 1);
    if (index.Matches(Joined(root, rest))) return DidYouMean(rest);
  }
  if (const std::string spelled = Spelled(index, prefix + pattern);
      !spelled.empty() && spelled.starts_with(prefix)) {
    return DidYouMean(std::string_view(spelled).substr(prefix.size()));
  }
  const std::optional<std::string> below = index.MatchesBelow(pattern);
  if (!below) return "";
  if (!HasNumber(*below)) {
    if (below->starts_with(prefix)) {
      const std::string more = Joined(below->substr(prefix.size()), pattern);
      return DidYouMean(more) +
             (root.empty() ? " Or write root = \"" + *below + "\" in [model]" : "");
    }
    return below->empty() ? "without `root` it would match"
                          : "with root = \"" + *below + "\" it would match";
  }
  const std::string whole = Joined(Generalised(*below), pattern);
  if (whole.starts_with(prefix) && index.Matches(whole)) {
    return DidYouMean(std::string_view(whole).substr(prefix.size()));
  }
  return "";
}

// What to write for a root that matches nothing.
std::string HelpForRoot(const PathIndex& index, const std::string& root,
                        const std::vector<const PathPattern*>& patterns) {
  for (size_t i = 0; i < std::min(patterns.size(), kMaxHelp); ++i) {
    const std::optional<std::string> below = index.MatchesBelow(patterns[i]->text);
    if (!below || HasNumber(*below)) continue;
    const auto matched = std::count_if(
        patterns.begin(), patterns.end(),
        [&](const PathPattern* other) { return index.Matches(Joined(*below, other->text)); });
    const std::string count = std::to_string(matched) + " of " + std::to_string(patterns.size()) +
                              (patterns.size() == 1 ? " pattern" : " patterns") + " would match";
    return (below->empty() ? "without it " : "with root = \"" + *below + "\" ") + count;
  }
  if (const std::string spelled = Spelled(index, root); !spelled.empty()) {
    return DidYouMean(spelled);
  }
  return "";
}

// Whether so many can be compared; reports when not.
bool FewEnough(size_t count, std::string_view things, size_t other_count, std::string_view others,
               const std::string& model, Span span, Diagnostics* diagnostics) {
  if (count <= kMaxComparisons / std::max<size_t>(1, other_count)) return true;
  diagnostics->Report<Diag::TooManyComparisons>(span, count, things, other_count, others, model);
  return false;
}

void CheckPatterns(const Config& config, const ModuleTree& tree, const std::string& model,
                   Diagnostics* diagnostics) {
  const std::vector<const PathPattern*> patterns = PatternsOf(config);
  const std::string& root = config.model_root.value;
  if (patterns.empty() && root.empty()) return;
  const Span first = patterns.empty() ? *config.model_root.span : patterns.front()->span;
  if (!FewEnough(patterns.size(), "patterns", tree.modules.size(), "modules", model, first,
                 diagnostics)) {
    return;
  }
  const PathIndex index(tree);
  if (!root.empty() && !index.Matches(root)) {  // then no pattern does, and this is why
    diagnostics->Report<Diag::RootMatchesNothing>(*config.model_root.span, root, model)
        .Help(HelpForRoot(index, root, patterns));
    return;
  }
  size_t helped = 0;
  for (const PathPattern* pattern : patterns) {
    if (index.Matches(Joined(root, pattern->text))) continue;
    auto addition =
        diagnostics->Report<Diag::PatternMatchesNothing>(pattern->span, pattern->text, model);
    if (!root.empty()) addition.Note(*config.model_root.span, "`root` is put before it");
    if (++helped <= kMaxHelp) addition.Help(HelpForPattern(index, root, pattern->text));
  }
}

using Classes = std::vector<std::string>;  // sorted

// Whether a class answers to the name, of a mapping or of a module of a fusion.
bool Answered(const std::string& name, bool member, const std::vector<ExtraClass>& extra,
              const Classes& classes) {
  Plan plan;
  plan.entries.emplace_back().name = name;
  plan.extra_classes = extra;
  return std::any_of(classes.begin(), classes.end(), [&](const std::string& class_name) {
    return member ? AnswersToMember(plan, class_name, name) : !AnswersFor(plan, class_name).empty();
  });
}

struct WrittenName {
  std::string_view name;
  Span span;
  bool member = false;  // of a fusion
};

// The names of a config that classes may answer to.
std::vector<WrittenName> NamesOf(const Config& config) {
  std::vector<WrittenName> names;
  for (const Mapping& mapping : config.mappings) {
    const Layer* layer = BuiltinCatalogue().FindLayer(mapping.name);
    if (!layer || !layer->function) names.push_back({mapping.name, mapping.span, false});
  }
  for (const Fusion& fusion : config.fusions) {
    for (const FusionPart& part : fusion.parts) names.push_back({part.name, part.name_span, true});
  }
  return names;
}

void CheckNames(const Config& config, const Classes& classes, const std::string& model,
                Diagnostics* diagnostics) {
  const std::vector<WrittenName> names = NamesOf(config);
  // Comparing a name costs more than comparing a segment of a path.
  if (names.empty() || !FewEnough(names.size() * 10, "names", classes.size(), "classes", model,
                                  names.front().span, diagnostics)) {
    return;
  }
  std::map<std::string_view, std::vector<ExtraClass>> extra;
  for (const ExtraLayer& layer : config.extra_classes) {
    extra[layer.name].push_back({layer.name, layer.class_name});
  }
  std::vector<std::string> words = classes;  // what would be fine to write
  for (const Layer& layer : BuiltinCatalogue().layers) {
    if (!layer.function && Answered(layer.name, false, {}, classes)) words.push_back(layer.name);
  }
  size_t helped = 0;
  for (const WrittenName& name : names) {
    if (Answered(std::string(name.name), name.member, extra[name.name], classes)) continue;
    const bool help = !BuiltinCatalogue().FindLayer(name.name) && ++helped <= kMaxHelp;
    diagnostics->Report<Diag::NameUnanswered>(name.span, model, name.name)
        .Help(help ? DidYouMean(NearestOf(name.name, words)) : "");
  }
}

void CheckClasses(const Config& config, const Classes& classes, const std::string& model,
                  Diagnostics* diagnostics) {
  size_t helped = 0;
  for (const ExtraLayer& extra : config.extra_classes) {
    const std::string& name = extra.class_name;
    if (std::binary_search(classes.begin(), classes.end(), name)) continue;
    diagnostics->Report<Diag::ClassNotInModel>(extra.class_span, model, name)
        .Help(++helped <= kMaxHelp ? DidYouMean(NearestOf(name, classes)) : "");
  }
}

}  // namespace

void CheckModel(const Config& config, const ModuleTree& tree, const std::string& model,
                Diagnostics* diagnostics) {
  std::set<std::string_view> names;
  for (const ArchiveModule& module : tree.modules) names.insert(module.class_name);
  const Classes classes(names.begin(), names.end());
  CheckPatterns(config, tree, model, diagnostics);
  CheckNames(config, classes, model, diagnostics);
  CheckClasses(config, classes, model, diagnostics);
}

std::vector<Diagnostic> ModelPathFindings(const Config& config, const ModuleTree& tree,
                                          const std::string& model) {
  Diagnostics diagnostics(config.source);
  CheckPatterns(config, tree, BaseName(model), &diagnostics);
  diagnostics.Finish();
  return diagnostics.list();
}

}  // namespace kernelmap
