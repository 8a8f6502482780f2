// Plans and reports, read back from their JSON. Keys that this version does not know are left out.
#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>

#include "compiler/diff/side.h"
#include "compiler/suggest.h"

namespace kernelmap {
namespace {

using Kind = Node::Kind;

constexpr std::array kActions = {Action::kReplaced, Action::kFused,    Action::kAlready,
                                 Action::kExcluded, Action::kDisabled, Action::kFallback,
                                 Action::kCandidate};
constexpr std::array kDecisions = {Decision::kKernel, Decision::kFallback, Decision::kDisabled};

class Reader {
 public:
  Reader(std::string_view what, Diagnostics* diagnostics)
      : what_(what), diagnostics_(diagnostics) {}

  Side Read(const Node& root, SideKind kind) {
    Side side;
    side.kind = kind;
    if (const Node* target = Get(root, "target", Kind::kTable, true))
      side.target = ReadTarget(*target);
    if (kind == SideKind::kReport) {
      ReadFileOf(root, "model", &side);
    } else {
      ReadFileOf(root, "config", &side);
      side.has_entries = true;
      if (const Node* list = Get(root, "entries", Kind::kArray, true)) ReadEntries(*list, &side);
    }
    const Node* sites = Get(root, "sites", Kind::kArray, kind == SideKind::kReport);
    side.has_sites = sites;
    if (sites) ReadSites(*sites, &side);
    return side;
  }

 private:
  // A member of a table, of one kind. Nothing where it is not there or null; both are errors where
  // it is required.
  const Node* Get(const Node& table, std::string_view key, Kind kind, bool required) {
    const Member* member = table.Find(key);
    if (!member) {
      if (required) diagnostics_->Report<Diag::MissingKey>(table.span, key, what_);
      return nullptr;
    }
    if (member->value.Is(kind)) return &member->value;
    if (required || !member->value.Is(Kind::kNull)) WrongType(key, KindName(kind), member->value);
    return nullptr;
  }

  std::string Text(const Node& table, std::string_view key, bool required) {
    const Node* node = Get(table, key, Kind::kString, required);
    return node ? node->text : "";
  }

  std::optional<std::string> MaybeText(const Node& table, std::string_view key) {
    const Node* node = Get(table, key, Kind::kString, false);
    return node ? std::optional(node->text) : std::nullopt;
  }

  std::vector<std::string> Strings(const Node& table, std::string_view key) {
    std::vector<std::string> texts;
    const Node* list = Get(table, key, Kind::kArray, false);
    for (const Node& item : list ? list->items : std::vector<Node>{}) {
      if (item.Is(Kind::kString)) {
        texts.push_back(item.text);
      } else {
        WrongType(key, "a list of strings", item);
      }
    }
    return texts;
  }

  void WrongType(std::string_view key, std::string_view wanted, const Node& found) {
    diagnostics_->Report<Diag::WrongType>(found.span, key, wanted, KindName(found.kind));
  }

  bool IsTable(std::string_view list, const Node& node) {
    if (!node.Is(Kind::kTable)) WrongType(list, "a list of tables", node);
    return node.Is(Kind::kTable);
  }

  // Of a word that is one of a few.
  void Unknown(const Node& table, std::string_view key, const std::vector<std::string>& words) {
    const Node& node = table.Find(key)->value;
    diagnostics_->Report<Diag::UnknownValue>(node.span, node.text, key)
        .Help(DidYouMeanOneOf(node.text, words));
  }

  Target ReadTarget(const Node& table) {
    Target target;
    target.device = Text(table, "device", true);
    target.mode = Text(table, "mode", true);
    target.torch = Text(table, "torch", true);
    target.cuda = MaybeText(table, "cuda");
    if (const Node* capability = Get(table, "capability", Kind::kString, false)) {
      target.capability =
          ParseCapability(SubText::OfString(*capability), target.device, diagnostics_);
    }
    return target;
  }

  std::optional<KernelUse> ReadKernel(const Node& table) {
    const Node* node = Get(table, "kernel", Kind::kTable, false);
    if (!node) return std::nullopt;
    KernelUse kernel;
    kernel.ref = Text(*node, "ref", true);
    kernel.name = Text(*node, "name", false);
    kernel.repo = MaybeText(*node, "repo");
    kernel.revision = MaybeText(*node, "revision");
    kernel.variant = MaybeText(*node, "variant");
    kernel.digest = MaybeText(*node, "digest");
    kernel.trust = MaybeText(*node, "trust");
    return kernel;
  }

  std::optional<Reason> ReadReason(const Node& table) {
    const Node* node = Get(table, "reason", Kind::kTable, false);
    if (!node) return std::nullopt;
    return Reason{Text(*node, "code", true), Text(*node, "text", false),
                  Text(*node, "difference", false)};
  }

  // What the plan or report is of.
  void ReadFileOf(const Node& root, std::string_view key, Side* side) {
    const Node* node = Get(root, key, Kind::kTable, false);
    if (!node) return;
    side->file = Text(*node, "file", false);
    side->sha256 = Text(*node, "sha256", false);
  }

  int Number(const Node& table, std::string_view key) {
    const Node* node = Get(table, key, Kind::kInteger, false);
    return node ? static_cast<int>(std::clamp<int64_t>(node->integer, 0, 1 << 30)) : 0;
  }

  std::optional<Position> ReadPosition(const Node& table) {
    const Node* node = Get(table, "source", Kind::kTable, false);
    if (!node) return std::nullopt;
    return Position{Text(*node, "file", false), Number(*node, "line"), Number(*node, "column")};
  }

  void ReadTrace(const Node& table, PlanEntry* entry) {
    const Node* list = Get(table, "trace", Kind::kArray, false);
    for (const Node& node : list ? list->items : std::vector<Node>{}) {
      if (!IsTable("trace", node)) continue;
      const Node* ok = Get(node, "ok", Kind::kBool, false);
      entry->trace.push_back(
          {Text(node, "step", false), !ok || ok->boolean, Text(node, "text", false)});
    }
  }

  void ReadEntries(const Node& list, Side* side) {
    std::set<std::string> names;
    for (const Node& node : list.items) {
      if (!IsTable("entries", node)) continue;
      PlanEntry entry;
      entry.name = Text(node, "name", true);
      const std::string decision = Text(node, "decision", true);
      const auto* found = std::find_if(kDecisions.begin(), kDecisions.end(),
                                       [&](Decision d) { return DecisionName(d) == decision; });
      if (found != kDecisions.end()) {
        entry.decision = *found;
      } else if (!decision.empty()) {
        Unknown(node, "decision", {"kernel", "fallback", "disabled"});
      }
      entry.mode = Text(node, "mode", false);
      entry.interval = Text(node, "interval", false);
      entry.guard = MaybeText(node, "guard").value_or("semantic");
      entry.only = Strings(node, "only");
      entry.except = Strings(node, "except");
      entry.kernel = ReadKernel(node);
      entry.reason = ReadReason(node);
      entry.source = ReadPosition(node);
      const Node* inherited = Get(node, "inherited", Kind::kBool, false);
      entry.from_config = !inherited || !inherited->boolean;
      ReadTrace(node, &entry);
      ReadModules(node, &entry);
      if (entry.modules.empty() && !names.insert(entry.name).second)
        Twice(node, "name", entry.name);
      side->entries.push_back(std::move(entry));
    }
  }

  void ReadModules(const Node& table, PlanEntry* entry) {
    const Node* list = Get(table, "modules", Kind::kArray, false);
    for (const Node& pair : list ? list->items : std::vector<Node>{}) {
      if (pair.items.size() == 2 && pair.items[0].Is(Kind::kString) &&
          pair.items[1].Is(Kind::kString)) {
        entry->modules.push_back({pair.items[0].text, pair.items[1].text});
      } else {
        WrongType("modules", "a list of pairs of strings", pair);
      }
    }
  }

  void ReadSites(const Node& list, Side* side) {
    std::set<std::tuple<std::string, std::string, int>> keys;
    side->sites.reserve(list.items.size());
    for (const Node& node : list.items) {
      if (!IsTable("sites", node)) continue;
      Site site;
      site.path = Text(node, "path", true);
      site.class_name = Text(node, "class", false);
      site.name = Text(node, "name", true);
      if (const Node* index = Get(node, "index", Kind::kInteger, false)) {
        site.index = static_cast<int>(std::clamp<int64_t>(index->integer, -1, 1 << 30));
      }
      ReadAction(node, &site);
      site.kernel = ReadKernel(node);
      site.members = Strings(node, "members");
      site.also = Strings(node, "also");
      site.proof = Text(node, "proof", false);
      site.reference = Text(node, "reference", false);
      site.source = ReadPosition(node);
      site.model_source = Text(node, "model_source", false);
      site.reason = ReadReason(node);
      if (site.members.empty() &&
          !keys.insert({site.path, site.name, site.index.value_or(-1)}).second) {
        Twice(node, "path", site.path + "` with the name `" + site.name);
      }
      side->sites.push_back(std::move(site));
    }
  }

  void ReadAction(const Node& node, Site* site) {
    const std::string word = Text(node, "action", true);
    for (const Action action : kActions) {
      if (ActionName(action) != word) continue;
      site->action = action;
      return;
    }
    if (word.empty()) return;
    std::vector<std::string> words;
    for (const Action action : kActions) words.emplace_back(ActionName(action));
    Unknown(node, "action", words);
  }

  void Twice(const Node& table, std::string_view key, const std::string& text) {
    const Member* member = table.Find(key);
    if (!member) return;  // which is an error already
    diagnostics_->Report<Diag::TwiceInReport>(member->value.span, text, what_);
  }

  std::string_view what_;
  Diagnostics* diagnostics_;
};

}  // namespace

std::optional<Side> ReadSide(const Node& root, SideKind kind, Diagnostics* diagnostics) {
  const size_t errors = diagnostics->errors();
  Side side =
      Reader(kind == SideKind::kPlan ? "the plan" : "the report", diagnostics).Read(root, kind);
  if (diagnostics->errors() > errors) return std::nullopt;
  return side;
}

}  // namespace kernelmap
