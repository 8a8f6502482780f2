// `[[fusion]]`, and the list of pairs that stands for one as a key of `kernel_mapping` in JSON.
#include <utility>

#include "compiler/bind.h"

namespace kernelmap {
namespace {

constexpr size_t kMaxParts = 100;  // each is compared with each
constexpr std::string_view kPairs = "a list of [name, pattern] pairs";

std::string Joined(const std::vector<FusionPart>& parts) {
  std::string name;
  for (const FusionPart& part : parts) name += (name.empty() ? "" : "+") + part.name;
  return name;
}

}  // namespace

std::vector<FusionPart> BindFusionParts(const Node& modules, Diagnostics* diagnostics) {
  std::vector<FusionPart> parts;
  if (!IsKind(modules, Node::Kind::kArray, "modules", kPairs, diagnostics)) return parts;
  if (modules.items.size() < 2) diagnostics->Report<Diag::FusionOfOne>(modules.span);
  if (modules.items.size() > kMaxParts) {
    diagnostics->Report<Diag::FusionOfMany>(modules.span, kMaxParts);
    return parts;
  }
  for (const Node& pair : modules.items) {
    const bool fine = pair.Is(Node::Kind::kArray) && pair.items.size() == 2 &&
                      pair.items[0].Is(Node::Kind::kString) &&
                      pair.items[1].Is(Node::Kind::kString);
    if (!fine) {
      ReportWrongType("modules", kPairs, pair, diagnostics);
      continue;
    }
    const Node &name = pair.items[0], &pattern = pair.items[1];
    if (name.text.empty()) diagnostics->Report<Diag::EmptyName>(name.span);
    if (IsSkipped(SubText::OfString(name), diagnostics)) continue;
    if (ParsePathPattern(SubText::OfString(pattern), diagnostics) && !name.text.empty()) {
      parts.push_back({name.text, name.span, {pattern.text, pattern.span}});
    }
  }
  return parts;
}

void BindFusion(const Node& modules, const Node& kernel, Config* config, Diagnostics* diagnostics) {
  Fusion fusion;
  fusion.parts = BindFusionParts(modules, diagnostics);
  fusion.mapping.name = Joined(fusion.parts);
  fusion.mapping.span = modules.span;
  fusion.mapping.entries = BindEntries(kernel, "fusion", diagnostics);
  config->fusions.push_back(std::move(fusion));
}

void BindFusions(const Member& member, Config* config, Diagnostics* diagnostics) {
  if (!IsKind(member.value, Node::Kind::kArray, "fusion", "a list of tables", diagnostics)) return;
  for (const Node& fusion : member.value.items) {
    if (!IsKind(fusion, Node::Kind::kTable, "fusion", "a list of tables", diagnostics)) continue;
    const Member *modules = fusion.Find("modules"), *kernel = fusion.Find("kernel");
    if (!modules) diagnostics->Report<Diag::MissingKey>(fusion.span, "modules", "`fusion`");
    if (!kernel) diagnostics->Report<Diag::MissingKey>(fusion.span, "kernel", "`fusion`");
    for (const Member& item : fusion.members) {
      if (item.key != "modules" && item.key != "kernel") {
        ReportUnknownKey(item, "`fusion`", {"modules", "kernel"}, diagnostics);
      }
    }
    if (modules && kernel) {
      BindFusion(modules->value, kernel->value, config, diagnostics);
    } else if (modules) {
      BindFusionParts(modules->value, diagnostics);
    } else if (kernel) {
      BindEntries(kernel->value, "fusion", diagnostics);
    }
  }
}

}  // namespace kernelmap
