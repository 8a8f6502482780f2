// The top of a config, `[target]` and `[model]`.
#include <algorithm>
#include <cctype>
#include <functional>
#include <utility>

#include "compiler/bind.h"
#include "compiler/suggest.h"
#include "compiler/version.h"

namespace kernelmap {
namespace {

const std::vector<std::string> kDtypes = {
    "bool",     "uint8",   "int8",    "int16",     "int32",      "int64",         "float16",
    "bfloat16", "float32", "float64", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2"};

// What dtypes are called elsewhere: in torch, in numpy, in short.
const std::vector<std::pair<std::string, std::string>> kOtherDtypes = {
    {"boolean", "bool"},      {"byte", "uint8"},
    {"u8", "uint8"},          {"char", "int8"},
    {"i8", "int8"},           {"short", "int16"},
    {"i16", "int16"},         {"int", "int32"},
    {"i32", "int32"},         {"long", "int64"},
    {"i64", "int64"},         {"half", "float16"},
    {"fp16", "float16"},      {"f16", "float16"},
    {"bf16", "bfloat16"},     {"float", "float32"},
    {"single", "float32"},    {"fp32", "float32"},
    {"f32", "float32"},       {"double", "float64"},
    {"fp64", "float64"},      {"f64", "float64"},
    {"cfloat", "complex64"},  {"cdouble", "complex128"},
    {"fp8", "float8_e4m3fn"}, {"float8", "float8_e4m3fn"}};

std::optional<std::string> BindDtype(const Node& node, Diagnostics* diagnostics) {
  if (!node.Is(Node::Kind::kString) ||
      std::find(kDtypes.begin(), kDtypes.end(), node.text) != kDtypes.end()) {
    return BindWord(node, "inputs", kDtypes, diagnostics);
  }
  std::string word = node.text.starts_with("torch.") ? node.text.substr(6) : node.text;
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& [other, dtype] : kOtherDtypes) {
    if (word == other) word = dtype;
  }
  diagnostics->Report<Diag::UnknownValue>(node.span, node.text, "inputs")
      .Help(DidYouMeanOneOf(word, kDtypes));
  return std::nullopt;
}

void BindFlag(const Member& member, Setting<bool>* setting, Diagnostics* diagnostics) {
  if (const auto value = BindBool(member, diagnostics)) *setting = {*value, member.key_span};
}

void BindPublishers(const Member& member, Config* config, Diagnostics* diagnostics) {
  config->trusted_publishers = {BindSortedTexts(member, diagnostics), member.key_span};
  for (const Node& item : member.value.items) {
    if (item.Is(Node::Kind::kString) &&
        (item.text.empty() || item.text.find('/') != std::string::npos)) {
      diagnostics->Report<Diag::BadPublisher>(item.span, item.text)
          .Help(item.text.empty()
                    ? ""
                    : "did you mean `" + item.text.substr(0, item.text.find('/')) + "`?");
    }
  }
}

// A capability is text; of numbers only whole ones say what they mean.
void BindCapability(const Member& member, const Node& table, TargetSettings* target,
                    Diagnostics* diagnostics) {
  const Node& node = member.value;
  const std::string written(diagnostics->source()->Slice(node.span));
  if (node.Is(Node::Kind::kFloat)) {
    diagnostics->Report<Diag::FloatCapability>(node.span, written)
        .Help("write \"" + written + "\"");
    return;
  }
  std::string device = target->device.value.value_or("");
  if (table.Find("device") && device.empty()) return;  // which is not known is reported already
  if (!device.empty() && !HasCapability(device)) {
    diagnostics->Report<Diag::NoCapabilities>(node.span, device);
    return;
  }
  SubText text = SubText::OfString(node);
  if (node.Is(Node::Kind::kInteger)) {
    text = {written, node.span, true, node.span.begin};
  } else if (!IsKind(node, Node::Kind::kString, "capability", "a string", diagnostics)) {
    return;
  }
  if (device.empty()) device = text.text.starts_with("gfx") ? "rocm" : "cuda";
  target->capability = {ParseCapability(text, device, diagnostics), member.key_span};
}

void BindVersion(const Member& member, Setting<std::optional<std::string>>* setting,
                 Diagnostics* diagnostics) {
  const std::optional<std::string> text = BindText(member, diagnostics);
  if (!text) return;
  const bool fine =
      member.key == "torch" ? ParseTorchVersion(*text).has_value() : IsTwoNumbers(*text);
  if (fine) {
    *setting = {text, member.key_span};
  } else {
    diagnostics->Report<Diag::BadTargetVersion>(member.value.span, *text, member.key);
  }
}

void BindLayer(const Node& node, Config* config, Diagnostics* diagnostics) {
  ExtraLayer extra;
  for (const Member& member : node.members) {
    if (member.key == "name") {
      extra.name = BindText(member, diagnostics).value_or("");
      extra.name_span = member.value.span;
    } else if (member.key == "class") {
      extra.class_name = BindText(member, diagnostics).value_or("");
      extra.class_span = member.value.span;
    } else {
      ReportUnknownKey(member, "`model.layer`", {"name", "class"}, diagnostics);
    }
  }
  for (const char* key : {"name", "class"}) {
    const Member* member = node.Find(key);
    if (!member) {
      diagnostics->Report<Diag::MissingKey>(node.span, key, "`model.layer`");
    } else if (member->value.Is(Node::Kind::kString) && member->value.text.empty()) {
      diagnostics->Report<Diag::EmptyName>(member->value.span);
    }
  }
  if (!extra.name.empty() && !extra.class_name.empty()) config->extra_classes.push_back(extra);
}

const std::vector<std::string> kRootKeys = {
    "inherit_mapping",     "default_mapping", "use_local_kernel", "allow_all_kernels",
    "trusted_publishers",  "deterministic",   "on_fallback",      "target",
    "attn_implementation", "model",           "kernel_mapping",   "fusion"};
void BindRootMember(const Member& member, Config* config, Diagnostics* diagnostics) {
  const std::string& key = member.key;
  if (key == "inherit_mapping") return BindFlag(member, &config->inherit_mapping, diagnostics);
  if (key == "use_local_kernel") return BindFlag(member, &config->use_local_kernel, diagnostics);
  if (key == "allow_all_kernels") return BindFlag(member, &config->allow_all_kernels, diagnostics);
  if (key == "deterministic") return BindFlag(member, &config->deterministic, diagnostics);
  if (key == "trusted_publishers") return BindPublishers(member, config, diagnostics);
  if (key == "attn_implementation") return BindAttention(member, config, diagnostics);
  if (key == "target") return BindTarget(member, &config->target, diagnostics);
  if (key == "model") return BindModel(member, config, diagnostics);
  if (key == "kernel_mapping") return BindMappings(member, config, diagnostics);
  if (key == "fusion") return BindFusions(member, config, diagnostics);
  if (key == "default_mapping" || key == "on_fallback") {
    const bool mapping = key == "default_mapping";
    const auto word = BindWord(member.value, key,
                               mapping ? std::vector<std::string>{"builtin", "transformers"}
                                       : std::vector<std::string>{"report", "error"},
                               diagnostics);
    if (word) {
      auto& setting = mapping ? config->default_mapping : config->on_fallback;
      setting = {*word, member.value.span};
    }
    return;
  }
  if (key == "$schema" && member.value.Is(Node::Kind::kString)) return;  // editors' own
  ReportUnknownKey(member, "the config", kRootKeys, diagnostics);
}

}  // namespace

void BindTarget(const Member& member, TargetSettings* target, Diagnostics* diagnostics) {
  if (!IsKind(member.value, Node::Kind::kTable, "target", "a table", diagnostics)) return;
  if (const Member* device = member.value.Find("device")) {
    if (const auto text = BindText(*device, diagnostics)) {
      target->device = {ParseDevice(SubText::OfString(device->value), diagnostics),
                        device->key_span};
    }
  }
  for (const Member& item : member.value.members) {
    if (item.key == "capability") {
      BindCapability(item, member.value, target, diagnostics);
    } else if (item.key == "mode") {
      if (!BindText(item, diagnostics)) continue;
      const auto mode = ParseMode(SubText::OfString(item.value), diagnostics);
      if (mode && !mode->inference && !mode->training) {
        diagnostics->Report<Diag::TargetMode>(item.value.span, mode->Text());
      } else if (mode) {
        target->mode = {mode->Text(), item.key_span};
      }
    } else if (item.key == "torch") {
      BindVersion(item, &target->torch, diagnostics);
    } else if (item.key == "cuda") {
      BindVersion(item, &target->cuda, diagnostics);
    } else if (item.key == "rocm") {
      BindVersion(item, &target->rocm, diagnostics);
    } else if (item.key == "xpu") {
      BindVersion(item, &target->xpu, diagnostics);
    } else if (item.key != "device") {
      ReportUnknownKey(item, "`target`",
                       {"device", "capability", "mode", "torch", "cuda", "rocm", "xpu"},
                       diagnostics);
    }
  }
}

void BindModel(const Member& member, Config* config, Diagnostics* diagnostics) {
  if (!IsKind(member.value, Node::Kind::kTable, "model", "a table", diagnostics)) return;
  for (const Member& item : member.value.members) {
    if (item.key == "root") {
      const std::optional<std::string> root = BindText(item, diagnostics);
      if (!root || root->empty()) continue;
      if (ParsePathPattern(SubText::OfString(item.value), diagnostics))
        config->model_root = {*root, item.value.span};
    } else if (item.key == "inputs") {
      if (!IsKind(item.value, Node::Kind::kArray, "inputs", "a list of strings", diagnostics)) {
        continue;
      }
      for (const Node& input : item.value.items) {
        const auto dtype = BindDtype(input, diagnostics);
        if (dtype) config->model_inputs.push_back(*dtype);
      }
    } else if (item.key == "layer") {
      if (!IsKind(item.value, Node::Kind::kArray, "layer", "a list of tables", diagnostics)) {
        continue;
      }
      for (const Node& layer : item.value.items) {
        if (IsKind(layer, Node::Kind::kTable, "layer", "a list of tables", diagnostics)) {
          BindLayer(layer, config, diagnostics);
        }
      }
    } else {
      ReportUnknownKey(item, "`model`", {"root", "inputs", "layer"}, diagnostics);
    }
  }
}

Config BindConfig(const Node& root, Diagnostics* diagnostics) {
  Config config;
  config.source = diagnostics->source();
  if (!IsKind(root, Node::Kind::kTable, "the config", "a table", diagnostics)) return config;
  for (const Member& member : root.members) BindRootMember(member, &config, diagnostics);
  return config;
}

}  // namespace kernelmap
