// variant.json: names of build directories and a system, and which of them suit it; and what raw
// values of torch.version mean.
#include "compiler/store/variant.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/cases/cases.h"

namespace kernelmap {
namespace {

using Json = nlohmann::json;
using Names = std::vector<std::string>;

std::optional<std::string> Text(const Json& object, const char* key) {
  const Json value = object.value(key, Json());
  if (value.is_null()) return std::nullopt;
  return value.get<std::string>();
}

System ReadSystem(const Json& json) {
  System system;
  system.torch = Text(json, "torch");
  if (json.contains("cxx11_abi") && !json["cxx11_abi"].is_null()) {
    system.cxx11_abi = json["cxx11_abi"].get<bool>();
  }
  system.backend = json.at("backend");
  system.arch = json.at("arch");
  system.os = json.at("os");
  system.tvm_ffi = Text(json, "tvm_ffi");
  system.macos = Text(json, "macos");
  system.free_threaded = json.contains("free_threaded") && json["free_threaded"] == true;
  return system;
}

// The expected names in normal form, sorted.
Names Normal(Names names, const std::map<std::string, std::string>& renamed) {
  for (std::string& name : names) {
    if (const auto found = renamed.find(name); found != renamed.end()) name = found->second;
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string Run(const Json& item) {
  const System system = ReadSystem(item.at("system"));
  const VariantChoice choice = ChooseVariant(item.at("variants").get<Names>(), system);
  const Json& expected = item.at("expected");
  const auto names = [&](const char* key) {
    return Normal(expected.at(key).get<Names>(), choice.renamed);
  };

  Names best = choice.tied;
  if (choice.chosen) best.push_back(*choice.chosen);
  if (Normal(best, {}) != names("acceptable")) return "the best are others";
  if (choice.chosen.has_value() == expected.at("chosen").is_null()) return "chosen or not";
  if (choice.chosen && expected["chosen"] != "ambiguous" &&
      Normal({expected["chosen"]}, choice.renamed).front() != *choice.chosen) {
    return "chosen: " + *choice.chosen;
  }
  if (Normal(choice.accepted, {}) != names("accepted")) return "others are accepted";
  // The order, but for equals: of each two that follow one another the first is as good or better.
  const Names order = expected.at("accepted").get<Names>();
  for (size_t i = 1; i < order.size(); ++i) {
    const VariantChoice two = ChooseVariant({order[i - 1], order[i]}, system);
    if (two.tied.empty() && *two.chosen != Normal({order[i - 1]}, two.renamed).front()) {
      return "`" + order[i] + "` is better than `" + order[i - 1] + "`";
    }
  }
  std::map<std::string, std::string> rejected;
  for (const auto& [name, reason] : expected.at("rejected").items()) {
    rejected[Normal({name}, choice.renamed).front()] = reason;
  }
  if (rejected != choice.rejected) return "others are rejected: " + Json(choice.rejected).dump();
  if (Normal(choice.unparsable, {}) != Normal(expected.at("unparsable").get<Names>(), {})) {
    return "others are unparsable";
  }
  if (expected.contains("renamed") && expected["renamed"].is_object()) {
    std::map<std::string, std::string> forward = expected["renamed"], backward;
    for (const auto& [from, to] : choice.renamed) backward[to] = from;
    if (forward != choice.renamed && forward != backward) return "others are renamed";
  }
  return "";
}

std::string Detect(const Json& item) {
  const Json& json = item.at("torch.version");
  TorchBuild build;
  build.cuda = Text(json, "cuda");
  build.hip = Text(json, "hip");
  build.xpu = Text(json, "xpu");
  build.mps = json.value("mps", false);
  build.neuron = json.value("neuron", false);
  build.tpu = json.value("tpu", false);
  const std::string tag = BackendTag(BackendOf(build));
  return tag == item.at("backend").get<std::string>() ? "" : "got " + tag;
}

}  // namespace
}  // namespace kernelmap

int main(int argc, char** argv) {
  return kernelmap::RunCases(argc, argv,
                             {{"cases", kernelmap::Run}, {"detect", kernelmap::Detect}});
}
