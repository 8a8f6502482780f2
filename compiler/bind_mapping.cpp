// kernel_mapping: from the forms a value can be written in to one shape.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "compiler/bind.h"
#include "compiler/catalogue.h"
#include "compiler/suggest.h"

namespace kernelmap {
namespace {

const std::vector<std::string> kMetadataKeys = {"version", "revision", "trust_remote_code",
                                                "only",    "except",   "guard"};
const std::vector<std::string> kGuards = {"semantic", "numeric", "name"};
constexpr std::string_view kAttention = "attention";

std::vector<std::string> BuiltinNames() {
  std::vector<std::string> names;
  for (const Kernel& kernel : BuiltinCatalogue().kernels) names.push_back(kernel.name);
  return names;
}

bool IsMetadataKey(std::string_view key) {
  return std::find(kMetadataKeys.begin(), kMetadataKeys.end(), key) != kMetadataKeys.end();
}

// A table that is a value, not a table of devices or modes.
bool IsValueTable(const Node& node) {
  return node.Is(Node::Kind::kTable) && (node.Find("kernel") || node.Find("any"));
}

bool IsValue(const Node& node) { return !node.Is(Node::Kind::kTable) || IsValueTable(node); }

class ValueBinder {
 public:
  ValueBinder(std::string_view name, Diagnostics* diagnostics)
      : name_(name), diagnostics_(diagnostics) {}

  std::optional<Value> Bind(const Node& node, bool in_any = false) {
    Value value;
    value.span = node.span;
    if (node.Is(Node::Kind::kString)) {
      if (node.text.empty() && in_any) {
        diagnostics_->Report<Diag::DisabledInAny>(node.span).Help(
            "leave it out: where no candidate can be used, stock code stays");
        return std::nullopt;
      }
      if (node.text.empty()) {
        value.disabled = true;
        return value;
      }
      return One(node, nullptr);
    }
    if (node.Is(Node::Kind::kArray)) return Pair(node);
    if (!node.Is(Node::Kind::kTable)) {
      ReportWrongType(name_, "a kernel reference", node, diagnostics_);
      return std::nullopt;
    }
    if (const Member* any = node.Find("any")) return Any(node, *any, in_any);
    const Member* kernel = node.Find("kernel");
    if (!kernel) {
      diagnostics_->Report<Diag::MissingKey>(node.span, "kernel", "`" + name_ + "`");
      return std::nullopt;
    }
    if (!IsKind(kernel->value, Node::Kind::kString, "kernel", "a string", diagnostics_)) {
      return std::nullopt;
    }
    return One(kernel->value, &node);
  }

 private:
  std::optional<Value> Pair(const Node& node) {
    const bool pair = node.items.size() == 2 && node.items[0].Is(Node::Kind::kString) &&
                      node.items[1].Is(Node::Kind::kTable);
    if (!pair) {
      diagnostics_->Report<Diag::BadPair>(node.span).Help(
          "for several candidates write { any = […] }");
      return std::nullopt;
    }
    return One(node.items[0], &node.items[1]);
  }

  std::optional<Value> Any(const Node& node, const Member& any, bool in_any) {
    for (const Member& member : node.members) {
      if (&member == &any) continue;
      if (IsMetadataKey(member.key) || member.key == "kernel") {
        diagnostics_->Report<Diag::BesideAny>(member.key_span, member.key)
            .Help("put it into the values of `any`, each its own");
      } else {
        ReportUnknownKey(member, "`" + name_ + "`", {"any"}, diagnostics_);
      }
    }
    if (in_any) {
      diagnostics_->Report<Diag::AnyInAny>(any.key_span);
      return std::nullopt;
    }
    if (!IsKind(any.value, Node::Kind::kArray, "any", "a list of values", diagnostics_)) {
      return std::nullopt;
    }
    if (any.value.items.empty()) {
      diagnostics_->Report<Diag::EmptyList>(any.value.span, "any");
      return std::nullopt;
    }
    Value value;
    value.span = node.span;
    bool fine = true;
    for (const Node& item : any.value.items) {
      std::optional<Value> bound = Bind(item, true);
      fine = fine && bound;
      if (bound) value.candidates.push_back(std::move(bound->candidates.front()));
    }
    if (!fine) return std::nullopt;
    return value;
  }

  std::optional<Value> One(const Node& text, const Node* metadata) {
    const size_t errors = diagnostics_->errors();
    Candidate candidate;
    candidate.span = text.span;
    const std::optional<KernelRef> ref = ParseKernelRef(SubText::OfString(text), diagnostics_);
    if (ref) {
      candidate.ref = *ref;
      if (ref->revision) candidate.revision = ref->revision->text;
      CheckName(*ref, text);
    }
    const Member* kernel = metadata ? metadata->Find("kernel") : nullptr;
    const bool table = kernel && &kernel->value == &text;  // else a pair: `kernel` is no metadata
    if (metadata) Metadata(*metadata, table, ref ? &*ref : nullptr, &candidate);
    if (diagnostics_->errors() != errors) return std::nullopt;
    Value value;
    value.span = text.span;
    value.candidates.push_back(std::move(candidate));
    return value;
  }

  void CheckName(const KernelRef& ref, const Node& text) {
    const SubText sub = SubText::OfString(text);
    if (ref.name.empty() && name_ != kAttention) {
      diagnostics_->Report<Diag::MissingKernelName>(text.span, ref.text)
          .Help("add the name: " + ref.text + ":" + (name_ == "fusion" ? "Name" : name_));
    }
    if (ref.kind == KernelRef::Kind::kBuiltin && !BuiltinCatalogue().FindKernel(ref.name)) {
      const size_t at = ref.text.size() - ref.name.size();
      diagnostics_->Report<Diag::UnknownBuiltin>(sub.At(at, ref.text.size()), ref.name)
          .Help(DidYouMean(ref.name, BuiltinNames()));
    }
  }

  void Metadata(const Node& table, bool has_kernel, const KernelRef* ref, Candidate* candidate) {
    const Member *version = table.Find("version"), *revision = table.Find("revision");
    for (const Member& member : table.members) {
      if (member.key == "version") {
        Version(member, candidate);
      } else if (member.key == "revision") {
        if (const auto text = BindText(member, diagnostics_)) candidate->revision = *text;
        if (member.value.Is(Node::Kind::kString) && !IsGitRef(member.value.text)) {
          diagnostics_->Report<Diag::BadRevision>(member.value.span, member.value.text);
        }
      } else if (member.key == "trust_remote_code") {
        candidate->trust_remote_code = BindBool(member, diagnostics_).value_or(false);
      } else if (member.key == "only") {
        candidate->only = BindPatterns(member, diagnostics_);
      } else if (member.key == "except") {
        candidate->except = BindPatterns(member, diagnostics_);
      } else if (member.key == "guard") {
        candidate->guard =
            BindWord(member.value, "guard", kGuards, diagnostics_).value_or("semantic");
        const Layer* layer = BuiltinCatalogue().FindLayer(name_);
        const bool fusion = name_ == "fusion";
        if (candidate->guard != "semantic" && (fusion || (layer && layer->function))) {
          diagnostics_->Report<Diag::GuardNotApplied>(member.value.span, candidate->guard,
                                                      fusion ? "fusions" : "functions");
        }
      } else if (!has_kernel || member.key != "kernel") {
        std::vector<std::string> keys = kMetadataKeys;
        if (has_kernel) keys.push_back("kernel");
        ReportUnknownKey(member, "`" + name_ + "`", keys, diagnostics_);
      }
    }
    if (version && revision) {
      diagnostics_->Report<Diag::VersionAndRevision>(revision->key_span)
          .Note(version->key_span, "`version` is here");
    }
    const Member* pin = version ? version : revision;
    if (pin && ref && ref->kind != KernelRef::Kind::kHub) {
      diagnostics_->Report<Diag::PinWithoutRepository>(pin->key_span, pin->key, ref->text);
    } else if (pin && ref && ref->revision) {
      diagnostics_->Report<Diag::PinTwice>(pin->key_span, pin->key, ref->revision->text);
    }
  }

  void Version(const Member& member, Candidate* candidate) {
    const Node& value = member.value;
    if (value.Is(Node::Kind::kInteger) && value.integer >= 0) {
      candidate->revision = "v" + std::to_string(value.integer);
      return;
    }
    auto addition = diagnostics_->Report<Diag::BadVersionNumber>(
        value.span, diagnostics_->source()->Slice(value.span));
    if (value.Is(Node::Kind::kString)) {
      addition.Help(
          "a tag, branch or commit is a `revision`; specifiers go into the reference: "
          "org/repo@>=1.0:Name");
    }
  }

  std::string name_;
  Diagnostics* diagnostics_;
};

class MappingBinder {
 public:
  MappingBinder(std::string_view name, Diagnostics* diagnostics)
      : name_(name), diagnostics_(diagnostics) {}

  std::vector<DeviceEntry> Bind(const Node& node) {
    std::vector<DeviceEntry> entries;
    if (IsValue(node)) {
      if (std::optional<Value> value = BindValue(node, name_, diagnostics_)) {
        entries.push_back({std::nullopt, value->span, {Plain(std::move(*value))}});
      }
      return entries;
    }
    if (node.members.empty()) {
      diagnostics_->Report<Diag::EmptyTable>(node.span, name_)
          .Help("to keep stock code write \"\"");
      return entries;
    }
    const Member* first = FirstRecognised(node);
    if (!first && MissesKernel(node)) return entries;
    if (first && ClassifyKey(first->key) == KeyKind::kMode) {
      diagnostics_->Report<Diag::ModeOutsideDevice>(first->key_span, first->key)
          .Help("put the modes inside a device: cuda = { " + first->key + " = … }");
      return entries;
    }
    for (const Member& member : node.members) {
      if (first && ClassifyKey(member.key) == KeyKind::kMode) {
        ReportMixed(member, "a mode", *first, "a device");
        continue;
      }
      const auto selector = ParseDeviceSelector(SubText::OfKey(member), diagnostics_);
      std::vector<ModeValue> modes = BindDevice(member.value);
      if (selector) entries.push_back({selector, member.key_span, std::move(modes)});
    }
    return entries;
  }

 private:
  static ModeValue Plain(Value value) {
    const Span span = value.span;
    return {std::nullopt, span, std::move(value)};
  }

  static const Member* FirstRecognised(const Node& table) {
    for (const Member& member : table.members) {
      if (ClassifyKey(member.key) != KeyKind::kOther) return &member;
    }
    return nullptr;
  }

  // A table of metadata, or with a key that is nearly `kernel`, is a value without its kernel.
  bool MissesKernel(const Node& table) {
    const bool value =
        std::any_of(table.members.begin(), table.members.end(), [](const Member& member) {
          return IsMetadataKey(member.key) || !Nearest(member.key, {"kernel", "any"}).empty();
        });
    if (!value) return false;
    bool unknown = false;
    for (const Member& member : table.members) {
      if (IsMetadataKey(member.key)) continue;
      std::vector<std::string> keys = kMetadataKeys;
      keys.insert(keys.end(), {"kernel", "any"});
      ReportUnknownKey(member, "`" + name_ + "`", keys, diagnostics_);
      unknown = true;
    }
    if (!unknown) {
      diagnostics_->Report<Diag::MissingKey>(table.span, "kernel", "`" + name_ + "`");
    }
    return true;
  }

  void ReportMixed(const Member& member, std::string_view kind, const Member& first,
                   std::string_view first_kind) {
    diagnostics_->Report<Diag::MixedKeys>(member.key_span, member.key, kind, first.key, first_kind)
        .Note(first.key_span, std::string(first_kind));
  }

  // What stands behind one device selector.
  std::vector<ModeValue> BindDevice(const Node& node) {
    std::vector<ModeValue> modes;
    if (IsValue(node)) {
      if (std::optional<Value> value = BindValue(node, name_, diagnostics_)) {
        modes.push_back(Plain(std::move(*value)));
      }
      return modes;
    }
    if (node.members.empty()) {
      diagnostics_->Report<Diag::EmptyTable>(node.span, name_)
          .Help("to keep stock code write \"\"");
      return modes;
    }
    const Member* first = FirstRecognised(node);
    if (!first && MissesKernel(node)) return modes;
    if (first && ClassifyKey(first->key) == KeyKind::kDevice) {
      diagnostics_->Report<Diag::DeviceInsideDevice>(first->key_span, first->key);
      return modes;
    }
    for (const Member& member : node.members) {
      if (first && ClassifyKey(member.key) == KeyKind::kDevice) {
        ReportMixed(member, "a device", *first, "a mode");
        continue;
      }
      const std::optional<Mode> mode = ParseMode(SubText::OfKey(member), diagnostics_);
      std::optional<Value> value;
      if (IsValue(member.value)) {
        value = BindValue(member.value, name_, diagnostics_);
      } else {
        diagnostics_->Report<Diag::TableInsideMode>(member.value.span, member.key);
      }
      if (mode && value) modes.push_back({mode, member.key_span, std::move(*value)});
    }
    return modes;
  }

  std::string name_;
  Diagnostics* diagnostics_;
};

// Where each name was mapped first. The names are those of the document.
using FirstPlaces = std::unordered_map<std::string_view, Span>;

void BindOne(std::string_view name, Span span, const Node& value, FirstPlaces* places,
             Config* config, Diagnostics* diagnostics) {
  if (name.empty()) {
    diagnostics->Report<Diag::EmptyName>(span);
    return;
  }
  if (name.size() > kMaxText) {
    diagnostics->Report<Diag::TextTooLong>(span, kMaxText);
    return;
  }
  if (const auto [first, is_first] = places->emplace(name, span); !is_first) {
    diagnostics->Report<Diag::DuplicateKey>(span, name).Note(first->second, "first here");
    return;
  }
  config->mappings.push_back(
      {std::string(name), span, MappingBinder(name, diagnostics).Bind(value)});
}

}  // namespace

std::optional<Value> BindValue(const Node& node, std::string_view name, Diagnostics* diagnostics) {
  return ValueBinder(name, diagnostics).Bind(node);
}

std::vector<DeviceEntry> BindEntries(const Node& node, std::string_view name,
                                     Diagnostics* diagnostics) {
  return MappingBinder(name, diagnostics).Bind(node);
}

std::vector<PathPattern> BindPatterns(const Member& member, Diagnostics* diagnostics) {
  std::vector<PathPattern> patterns;
  if (!IsKind(member.value, Node::Kind::kArray, member.key, "a list of path patterns",
              diagnostics)) {
    return patterns;
  }
  if (member.value.items.empty()) {
    diagnostics->Report<Diag::EmptyList>(member.value.span, member.key);
  }
  for (const Node& item : member.value.items) {
    if (!IsKind(item, Node::Kind::kString, member.key, "a list of path patterns", diagnostics)) {
      continue;
    }
    if (ParsePathPattern(SubText::OfString(item), diagnostics))
      patterns.push_back({item.text, item.span});
  }
  return patterns;
}

void BindMappings(const Member& member, Config* config, Diagnostics* diagnostics) {
  FirstPlaces places;
  if (member.value.Is(Node::Kind::kTable)) {
    for (const Member& entry : member.value.members) {
      BindOne(entry.key, entry.key_span, entry.value, &places, config, diagnostics);
    }
    return;
  }
  if (!IsKind(member.value, Node::Kind::kArray, member.key, "a table", diagnostics)) return;
  for (const Node& pair : member.value.items) {
    if (!pair.Is(Node::Kind::kArray) || pair.items.size() != 2) {
      diagnostics->Report<Diag::BadMappingPair>(pair.span);
    } else if (pair.items[0].Is(Node::Kind::kString)) {
      BindOne(pair.items[0].text, pair.items[0].span, pair.items[1], &places, config, diagnostics);
    } else if (pair.items[0].Is(Node::Kind::kArray)) {
      BindFusion(pair.items[0], pair.items[1], config, diagnostics);
    } else {
      diagnostics->Report<Diag::BadMappingPair>(pair.items[0].span);
    }
  }
}

}  // namespace kernelmap
