#include "compiler/catalogue.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "compiler/document.h"
#include "compiler/embedded.h"

namespace kernelmap {
namespace {

// Reads one embedded file. Those are ours and tests check them, so what is wrong ends the program
// with a message for whoever just edited one.
class EmbeddedReader {
 public:
  explicit EmbeddedReader(const EmbeddedFile& file)
      : diagnostics_(std::make_shared<Source>(std::string(file.name), std::string(file.text))) {
    std::optional<Node> root = ReadDocument(Syntax::kToml, &diagnostics_);
    if (!root) Fail(diagnostics_.list().front().span, diagnostics_.list().front().message);
    root_ = std::move(*root);
  }

  const Node& root() const { return root_; }

  [[noreturn]] void Fail(Span at, std::string_view message) const {
    const Source& source = *diagnostics_.source();
    std::fprintf(stderr, "kernelmap: built-in file %s:%d: %.*s\n", source.name().c_str(),
                 source.Locate(at.begin).line, static_cast<int>(message.size()), message.data());
    std::exit(2);
  }

  void AllowKeys(const Node& table, std::initializer_list<std::string_view> keys) const {
    for (const Member& member : table.members) {
      if (std::find(keys.begin(), keys.end(), member.key) == keys.end()) {
        Fail(member.key_span, "unknown key " + member.key);
      }
    }
  }

  std::string Text(const Node& table, std::string_view key) const {
    return Get(table, key, Node::Kind::kString).text;
  }
  bool Bool(const Node& table, std::string_view key, bool otherwise) const {
    return table.Find(key) ? Get(table, key, Node::Kind::kBool).boolean : otherwise;
  }
  std::vector<std::string> Texts(const Node& table, std::string_view key) const {
    std::vector<std::string> texts;
    if (!table.Find(key)) return texts;
    for (const Node& item : Get(table, key, Node::Kind::kArray).items) {
      if (!item.Is(Node::Kind::kString)) Fail(item.span, "not a string");
      texts.push_back(item.text);
    }
    return texts;
  }
  Layout ReadLayout(const Node& node) const {
    if (!node.Is(Node::Kind::kString)) Fail(node.span, "not a string");
    Diagnostics diagnostics(diagnostics_.source());
    std::optional<Layout> layout = ParseLayout(SubText::OfString(node), &diagnostics);
    if (!layout) Fail(diagnostics.list().front().span, diagnostics.list().front().message);
    return *layout;
  }
  std::map<std::string, int> Ranks(const Node& table) const {
    std::map<std::string, int> ranks;
    const Member* rank = table.Find("rank");
    if (!rank) return ranks;
    for (const Member& member : rank->value.members) {
      if (!member.value.Is(Node::Kind::kInteger)) Fail(member.value.span, "not a whole number");
      ranks[member.key] = static_cast<int>(member.value.integer);
    }
    return ranks;
  }
  const std::vector<Node>& Tables(const Node& table, std::string_view key) const {
    static const std::vector<Node> none;
    if (!table.Find(key)) return none;
    const std::vector<Node>& items = Get(table, key, Node::Kind::kArray).items;
    for (const Node& item : items) {
      if (!item.Is(Node::Kind::kTable)) Fail(item.span, "not a table");
    }
    return items;
  }

 private:
  const Node& Get(const Node& table, std::string_view key, Node::Kind kind) const {
    const Member* member = table.Find(key);
    if (!member) Fail(table.span, "no key " + std::string(key));
    if (!member->value.Is(kind)) {
      Fail(member->value.span, std::string(key) + " is not " + std::string(KindName(kind)));
    }
    return member->value;
  }

  Diagnostics diagnostics_;
  Node root_;
};

Layer ReadLayer(const EmbeddedFile& file) {
  const EmbeddedReader reader(file);
  const Node& root = reader.root();
  reader.AllowKeys(root, {"name", "function", "across_calls", "member_only", "classes", "hints",
                          "input", "operations", "attributes", "reference"});
  Layer layer;
  layer.name = reader.Text(root, "name");
  layer.function = reader.Bool(root, "function", false);
  layer.across_calls = reader.Bool(root, "across_calls", false);
  layer.member_only = reader.Bool(root, "member_only", false);
  layer.classes = reader.Texts(root, "classes");
  layer.hints = reader.Texts(root, "hints");
  layer.input = reader.Texts(root, "input");
  layer.operations = reader.Texts(root, "operations");
  if (const Member* attributes = root.Find("attributes")) {
    for (const Member& member : attributes->value.members) {
      layer.attributes[member.key] = reader.Texts(attributes->value, member.key);
    }
  }
  for (const Node& item : reader.Tables(root, "reference")) {
    reader.AllowKeys(item, {"name", "source", "by_name", "rank"});
    layer.references.push_back({reader.Text(item, "name"), reader.Text(item, "source"),
                                reader.Bool(item, "by_name", true), reader.Ranks(item)});
  }
  return layer;
}

Kernel ReadKernel(const EmbeddedFile& file) {
  const EmbeddedReader reader(file);
  const Node& root = reader.root();
  reader.AllowKeys(root, {"name", "summary", "devices", "dtypes", "backward", "torch_compile",
                          "deterministic", "tolerance", "implements"});
  Kernel kernel;
  kernel.name = reader.Text(root, "name");
  kernel.summary = reader.Text(root, "summary");
  kernel.devices = reader.Texts(root, "devices");
  kernel.dtypes = reader.Texts(root, "dtypes");
  kernel.backward = reader.Bool(root, "backward", false);
  kernel.torch_compile = reader.Bool(root, "torch_compile", false);
  kernel.deterministic = reader.Bool(root, "deterministic", true);
  if (const Member* tolerance = root.Find("tolerance")) {
    for (const Member& member : tolerance->value.members) {
      if (!member.value.Is(Node::Kind::kFloat)) reader.Fail(member.value.span, "not a number");
      kernel.tolerance[member.key] = member.value.number;
    }
  }
  for (const Node& item : reader.Tables(root, "implements")) {
    reader.AllowKeys(item, {"layer", "references", "source", "same_dtype", "rank", "layout",
                            "contiguous_output", "members", "same_input", "sizes"});
    std::vector<FusedMember> members;
    for (const Node& member : reader.Tables(item, "members")) {
      reader.AllowKeys(member, {"name", "layer", "references"});
      members.push_back({reader.Text(member, "name"), reader.Text(member, "layer"),
                         reader.Texts(member, "references")});
    }
    Implementation implementation{
        .layer = members.empty() ? reader.Text(item, "layer") : JoinLayers(members),
        .references = reader.Texts(item, "references"),
        .source = reader.Text(item, "source"),
        .same_dtype = reader.Texts(item, "same_dtype"),
        .rank = {},
        .layout = {},
        .contiguous_output = reader.Bool(item, "contiguous_output", true),
        .adapter = std::nullopt,
        .members = std::move(members),
        .same_input = reader.Bool(item, "same_input", false)};
    implementation.rank = reader.Ranks(item);
    if (const Member* layout = item.Find("layout")) {
      for (const Member& member : layout->value.members) {
        implementation.layout[member.key] = reader.ReadLayout(member.value);
      }
    }
    if (const Member* sizes = item.Find("sizes")) {
      for (const Member& member : sizes->value.members) {
        implementation.sizes[member.key] = reader.Text(sizes->value, member.key);
      }
    }
    kernel.implementations.push_back(std::move(implementation));
  }
  return kernel;
}

template <typename T>
void SortByName(std::vector<T>* list) {
  std::sort(list->begin(), list->end(), [](const T& a, const T& b) { return a.name < b.name; });
}

template <typename T>
const T* FindByName(const std::vector<T>& list, std::string_view name) {
  for (const T& item : list) {
    if (item.name == name) return &item;
  }
  return nullptr;
}

Catalogue Read() {
  Catalogue catalogue;
  for (const EmbeddedFile& file : EmbeddedFiles()) {
    if (file.name.starts_with("kernels/layers/")) catalogue.layers.push_back(ReadLayer(file));
    if (file.name.starts_with("kernels/builtin/")) catalogue.kernels.push_back(ReadKernel(file));
  }
  SortByName(&catalogue.layers);
  SortByName(&catalogue.kernels);
  return catalogue;
}

}  // namespace

std::string_view Layer::HintOf(std::string_view class_name) const {
  for (const std::string& hint : hints) {
    if (!hint.empty() && class_name.ends_with(hint)) return hint;
  }
  return "";
}

const Layer* Catalogue::FindLayer(std::string_view name) const { return FindByName(layers, name); }

const Kernel* Catalogue::FindKernel(std::string_view name) const {
  return FindByName(kernels, name);
}

Layer ReadLayerFile(std::string_view name, std::string_view text) {
  return ReadLayer(EmbeddedFile{name, text});
}

const Catalogue& BuiltinCatalogue() {
  static const Catalogue catalogue = Read();
  return catalogue;
}

std::string_view DefaultMappingText() { return EmbeddedText("kernels/default_mapping.toml"); }

std::string_view TransformersMappingText() {
  return EmbeddedText("kernels/transformers_mapping.toml");
}

std::string JoinLayers(const std::vector<FusedMember>& members) {
  std::string name;
  for (const FusedMember& member : members) name += (name.empty() ? "" : "+") + member.layer;
  return name;
}

}  // namespace kernelmap
