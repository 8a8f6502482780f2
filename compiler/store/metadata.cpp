#include "compiler/store/metadata.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "compiler/document.h"

namespace kernelmap {
namespace {

constexpr const char* kBackends[] = {"cann",   "cpu",  "cuda", "metal",
                                     "neuron", "rocm", "tpu",  "xpu"};

// Lower-case letters, digits and dashes, at least two, with a letter first and no dash last.
bool IsKernelName(const std::string& name) {
  const auto fine = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return name.size() >= 2 && name[0] >= 'a' && name[0] <= 'z' && name.back() != '-' &&
         std::all_of(name.begin(), name.end(), fine);
}

// Reads members of a table; the first problem is kept.
class Reader {
 public:
  explicit Reader(std::string* problem) : problem_(problem) {}

  const Node* Get(const Node& table, const char* key, Node::Kind kind, bool required) {
    const Member* member = table.Find(key);
    if (!member || (!required && member->value.Is(Node::Kind::kNull))) {
      if (required) Fail("`" + std::string(key) + "` is missing");
      return nullptr;
    }
    if (!member->value.Is(kind)) {
      Fail("`" + std::string(key) + "` is " + std::string(KindName(member->value.kind)) + ", not " +
           std::string(KindName(kind)));
      return nullptr;
    }
    return &member->value;
  }

  std::string Text(const Node& table, const char* key, bool required) {
    const Node* node = Get(table, key, Node::Kind::kString, required);
    return node ? node->text : "";
  }

  std::vector<std::string> Texts(const Node& table, const char* key, bool required) {
    std::vector<std::string> texts;
    const Node* list = Get(table, key, Node::Kind::kArray, required);
    if (!list) return texts;
    for (const Node& item : list->items) {
      if (!item.Is(Node::Kind::kString)) Fail("`" + std::string(key) + "` holds other than text");
      texts.push_back(item.text);
    }
    return texts;
  }

  void Fail(std::string text) {
    if (problem_->empty()) *problem_ = std::move(text);
  }

 private:
  std::string* problem_;
};

void ReadDependency(const Node& node, Reader* reader, Metadata* metadata) {
  if (!node.Is(Node::Kind::kTable)) return reader->Fail("`kernel-depends` holds other than tables");
  KernelDependency dependency;
  dependency.repo = reader->Text(node, "repo-id", true);
  const Node* version = reader->Get(node, "version", Node::Kind::kInteger, false);
  dependency.revision = reader->Text(node, "revision", false);
  if ((version != nullptr) != dependency.revision.empty()) {
    return reader->Fail("a kernel that it depends on has not one of `version` and `revision`");
  }
  if (version) dependency.revision = "v" + std::to_string(version->integer);
  metadata->kernel_depends.push_back(std::move(dependency));
}

void ReadDigests(const Node& digest, Reader* reader, Metadata* metadata) {
  metadata->digest_algorithm = reader->Text(digest, "algorithm", true);
  if (metadata->digest_algorithm != "sha256" && metadata->digest_algorithm != "sha512") {
    return reader->Fail("`digest.algorithm` is neither sha256 nor sha512");
  }
  const Node* files = reader->Get(digest, "files", Node::Kind::kTable, true);
  if (!files) return;
  for (const Member& member : files->members) {
    if (!member.value.Is(Node::Kind::kString)) {
      return reader->Fail("`digest.files` holds other than text");
    }
    metadata->digests[member.key] = member.value.text;
  }
}

}  // namespace

std::optional<Metadata> ReadMetadata(const std::string& text, std::string* problem) {
  problem->clear();
  Diagnostics diagnostics(std::make_shared<Source>("metadata.json", text));
  const std::optional<Node> root = ReadDocument(Syntax::kJson, &diagnostics);
  if (!root || diagnostics.errors() > 0) {
    const Diagnostic& first = diagnostics.list().front();
    *problem = "line " + std::to_string(first.source->Locate(first.span.begin).line) + ": " +
               first.message;
    return std::nullopt;
  }
  Reader reader(problem);
  Metadata metadata;
  metadata.name = reader.Text(*root, "name", true);
  if (problem->empty() && !IsKernelName(metadata.name)) reader.Fail("`name` is no kernel's name");
  metadata.id = reader.Text(*root, "id", true);
  if (const Node* version = reader.Get(*root, "version", Node::Kind::kInteger, true)) {
    if (version->integer < 0) reader.Fail("`version` is negative");
    metadata.version = std::to_string(version->integer);
  }
  metadata.license = reader.Text(*root, "license", true);
  metadata.python_depends = reader.Texts(*root, "python-depends", true);
  if (const Node* list = reader.Get(*root, "kernel-depends", Node::Kind::kArray, false)) {
    for (const Node& item : list->items) ReadDependency(item, &reader, &metadata);
  }
  if (const Node* backend = reader.Get(*root, "backend", Node::Kind::kTable, true)) {
    metadata.backend = reader.Text(*backend, "type", true);
    if (std::find(std::begin(kBackends), std::end(kBackends), metadata.backend) ==
        std::end(kBackends)) {
      reader.Fail("`backend.type` is no backend");
    }
    metadata.archs = reader.Texts(*backend, "archs", false);
  }
  if (const Node* digest = reader.Get(*root, "digest", Node::Kind::kTable, false)) {
    ReadDigests(*digest, &reader, &metadata);
  }
  if (!problem->empty()) return std::nullopt;
  return metadata;
}

}  // namespace kernelmap
