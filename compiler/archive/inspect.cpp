#include "compiler/archive/inspect.h"

#include <algorithm>
#include <map>

#include "compiler/catalogue.h"
#include "compiler/display.h"
#include "compiler/json_writer.h"
#include "compiler/plan.h"
#include "compiler/site_path.h"
#include "compiler/words.h"

namespace kernelmap {
namespace {

/// A plan that maps every layer of the catalogue, so that AnswersFor finds all names of a class.
Plan EveryLayer() {
  Plan plan;
  for (const Layer& layer : BuiltinCatalogue().layers) {
    if (layer.function || layer.member_only) continue;
    PlanEntry entry;
    entry.name = layer.name;
    plan.entries.push_back(std::move(entry));
  }
  return plan;
}

void WriteTensors(const std::vector<TensorInfo>& tensors, JsonWriter* json) {
  json->BeginArray();
  for (const TensorInfo& tensor : tensors) {
    json->BeginObject();
    json->Key("name").String(tensor.name);
    json->Key("shape").BeginArray();
    for (const int64_t size : tensor.shape) json->Integer(size);
    json->EndArray();
    json->Key("dtype").String(tensor.dtype);
    json->EndObject();
  }
  json->EndArray();
}

/// "weight float32[32, 64], bias float32[32]".
std::string TensorsText(const std::vector<TensorInfo>& tensors) {
  std::string text;
  for (const TensorInfo& tensor : tensors) {
    if (!text.empty()) text += ", ";
    text += tensor.name + " " + tensor.dtype + "[";
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      if (i > 0) text += ", ";
      text += std::to_string(tensor.shape[i]);
    }
    text += "]";
  }
  return text;
}

/// Looks a class up once, however many modules have it.
class Names {
 public:
  const std::vector<std::string>& Of(const std::string& class_name) {
    const auto it = known_.find(class_name);
    if (it != known_.end()) return it->second;
    return known_.emplace(class_name, LayerNamesFor(class_name)).first->second;
  }

 private:
  std::map<std::string, std::vector<std::string>> known_;
};

}  // namespace

std::vector<std::string> LayerNamesFor(std::string_view class_name) {
  static const Plan every = EveryLayer();
  std::vector<std::string> names;
  for (const Answer& answer : AnswersFor(every, class_name)) names.push_back(answer.entry->name);
  return names;
}

std::string InspectToJson(const std::string& file, const Archive& archive, const ModuleTree& tree) {
  Names names;
  JsonWriter json;
  json.BeginObject();
  json.Key("format").String("kernelmap-inspect/1");
  json.Key("model").BeginObject();
  json.Key("file").String(file);
  json.Key("version").Integer(archive.version());
  json.Key("extra_files").Strings(archive.extra_files());
  json.Key("set_state_classes").Strings(tree.set_state_classes);
  json.EndObject();
  json.Key("modules").BeginArray();
  for (const ArchiveModule& module : tree.modules) {
    json.BeginObject();
    json.Key("path").String(module.path);
    json.Key("class").String(module.class_name);
    json.Key("parameters");
    WriteTensors(module.parameters, &json);
    json.Key("buffers");
    WriteTensors(module.buffers, &json);
    json.Key("opaque").Bool(module.opaque);
    json.Key("names").Strings(names.Of(module.class_name));
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return std::move(json).Finish();
}

std::string InspectToText(const std::string& file, const Archive& archive, const ModuleTree& tree) {
  Names names;
  std::string text = Printable(file) + ": " + std::to_string(tree.modules.size()) +
                     " modules, archive version " + std::to_string(archive.version()) + "\n";
  size_t path_width = 0, class_width = 0;
  for (const ArchiveModule& module : tree.modules) {  // a few very long names must not widen all
    if (module.path.size() <= 60) path_width = std::max(path_width, module.path.size());
    if (module.class_name.size() <= 40) {
      class_width = std::max(class_width, module.class_name.size());
    }
  }
  const auto padded = [](std::string column, size_t width) {
    if (column.size() < width) column.resize(width, ' ');
    return column;
  };
  path_width = std::max(path_width, PathText("").size());
  for (const ArchiveModule& module : tree.modules) {
    std::string line = "  " + padded(PathText(module.path), path_width) + "  " +
                       padded(module.class_name, class_width);
    if (module.opaque) line += "  state kept by __setstate__";
    if (!module.parameters.empty()) line += "  " + TensorsText(module.parameters);
    if (!module.buffers.empty()) line += "  buffers: " + TensorsText(module.buffers);
    const std::vector<std::string>& mapped = names.Of(module.class_name);
    if (!mapped.empty()) line += "  -> " + JoinTexts(mapped);
    line.erase(line.find_last_not_of(' ') + 1);
    text += Printable(line) + "\n";
  }
  if (!archive.extra_files().empty()) {
    text += "extra files: " + Printable(JoinTexts(archive.extra_files())) + "\n";
  }
  if (!tree.set_state_classes.empty()) {
    text += "loading it runs code of the archive: __setstate__ of " +
            Printable(JoinTexts(tree.set_state_classes)) + "\n";
  }
  return text;
}

}  // namespace kernelmap
