#include "compiler/store/embedded_kernels.h"

#include <memory>
#include <utility>

#include "compiler/diagnostics.h"
#include "compiler/document.h"
#include "compiler/json_writer.h"
#include "compiler/store/cache.h"
#include "compiler/store/source_check.h"
#include "compiler/store/variant.h"

namespace kernelmap {
namespace {

constexpr const char* kFormat = "kernelmap-adapters/1";
constexpr size_t kMaxKernels = 1000;
constexpr size_t kMaxSchema = 4096;

void WriteOrNull(std::string_view key, const std::string& value, JsonWriter* json) {
  json->Key(key);
  value.empty() ? json->Null() : json->String(value);
}

// Takes texts out of objects; what is missing or of another type is noted.
class Reader {
 public:
  std::string Text(const Node& table, std::string_view key, bool may_be_null = false) {
    const Member* member = table.Find(key);
    if (member && member->value.Is(Node::Kind::kString)) return member->value.text;
    if (!member || !may_be_null || !member->value.Is(Node::Kind::kNull)) Wrong(key);
    return "";
  }

  const std::vector<Node>& Tables(const Node& table, std::string_view key) {
    static const std::vector<Node> none;
    const Member* member = table.Find(key);
    if (!member || !member->value.Is(Node::Kind::kArray)) {
      Wrong(key);
      return none;
    }
    if (member->value.items.size() > kMaxKernels) Wrong(key);
    for (const Node& item : member->value.items) {
      if (!item.Is(Node::Kind::kTable)) Wrong(key);
    }
    return problem_.empty() ? member->value.items : none;
  }

  void Wrong(std::string_view key) {
    if (problem_.empty()) problem_ = "`" + std::string(key) + "` is not what it must be";
  }
  const std::string& problem() const { return problem_; }

 private:
  std::string problem_;
};

EmbeddedKernel ReadKernel(const Node& item, Reader* reader) {
  EmbeddedKernel kernel;
  kernel.ref = reader->Text(item, "ref");
  kernel.origin.repo = reader->Text(item, "repo", true);
  kernel.origin.commit = reader->Text(item, "revision", true);
  kernel.origin.digest = reader->Text(item, "digest");
  kernel.origin.name = reader->Text(item, "name");
  kernel.variant = reader->Text(item, "variant", true);
  if (!kernel.origin.repo.empty() && !IsCommit(kernel.origin.commit)) reader->Wrong("revision");
  if (!kernel.origin.repo.empty() &&
      !ChooseVariant({kernel.variant}, System{}).unparsable.empty()) {
    reader->Wrong("variant");
  }
  for (const Node& table : reader->Tables(item, "adapters")) {
    Adapter adapter{reader->Text(table, "op"), reader->Text(table, "schema"),
                    reader->Text(table, "forward"), reader->Text(table, "stock", true)};
    if (adapter.op != AdapterName(kernel.origin, adapter)) reader->Wrong("op");
    if (!CodeProblem(adapter.forward).empty()) reader->Wrong("forward");
    if (!CodeProblem(adapter.stock).empty()) reader->Wrong("stock");
    if (adapter.schema.size() > kMaxSchema) reader->Wrong("schema");
    kernel.adapters.push_back(std::move(adapter));
  }
  return kernel;
}

}  // namespace

std::string KernelsToJson(const EmbeddedKernels& kernels) {
  JsonWriter json;
  json.BeginObject();
  json.Key("format").String(kFormat);
  json.Key("device").String(kernels.device);
  json.Key("kernels").BeginArray();
  for (const EmbeddedKernel& kernel : kernels.kernels) {
    json.BeginObject();
    json.Key("ref").String(kernel.ref);
    WriteOrNull("repo", kernel.origin.repo, &json);
    WriteOrNull("revision", kernel.origin.commit, &json);
    WriteOrNull("variant", kernel.variant, &json);
    json.Key("name").String(kernel.origin.name);
    json.Key("digest").String(kernel.origin.digest);
    json.Key("adapters").BeginArray();
    for (const Adapter& adapter : kernel.adapters) {
      json.BeginObject();
      json.Key("op").String(adapter.op);
      json.Key("schema").String(adapter.schema);
      json.Key("forward").String(adapter.forward);
      WriteOrNull("stock", adapter.stock, &json);
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return std::move(json).Finish();
}

std::optional<EmbeddedKernels> ReadKernels(std::string_view json, std::string* problem) {
  Diagnostics diagnostics(std::make_shared<Source>(kAdaptersFile, std::string(json)));
  const std::optional<Node> root = ReadDocument(Syntax::kJson, &diagnostics);
  if (!root) {
    *problem = diagnostics.list().empty() ? "it is no JSON" : diagnostics.list().front().message;
    return std::nullopt;
  }
  Reader reader;
  EmbeddedKernels kernels;
  if (reader.Text(*root, "format") != kFormat) reader.Wrong("format");
  kernels.device = reader.Text(*root, "device");
  for (const Node& item : reader.Tables(*root, "kernels")) {
    kernels.kernels.push_back(ReadKernel(item, &reader));
  }
  *problem = reader.problem();
  if (!problem->empty()) return std::nullopt;
  return kernels;
}

}  // namespace kernelmap
