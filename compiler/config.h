// A config as it was written, with every form of LANGUAGE brought to one shape and every place
// kept. Nothing is resolved here: no target, no default mapping, no store.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diagnostics.h"
#include "compiler/document.h"
#include "compiler/languages.h"
#include "compiler/plan.h"

namespace kernelmap {

/// A setting, and where the config says it; no place for a default.
template <typename T>
struct Setting {
  T value{};
  std::optional<Span> span;
};

/// A path pattern, and where it is written.
struct PathPattern {
  std::string text;
  Span span;
};

/// The texts alone.
std::vector<std::string> Texts(const std::vector<PathPattern>& patterns);

/// A kernel with its metadata.
struct Candidate {
  KernelRef ref;
  Span span;             // of the reference
  std::string revision;  // what `version`, `revision` or @ say; "" when none does
  bool trust_remote_code = false;
  std::vector<PathPattern> only, except;
  std::string guard = "semantic";
};

/// What a name, a device or a mode is mapped to.
struct Value {
  Span span;
  bool disabled = false;              // ""
  std::vector<Candidate> candidates;  // of `any`, several; the first that can be used is taken
};

struct ModeValue {
  std::optional<Mode> mode;  // nothing: a value without modes
  Span span;                 // of the mode, or of the value
  Value value;
};

struct DeviceEntry {
  std::optional<DeviceSelector> selector;  // nothing: any device
  Span span;                               // of the selector, or of the value
  std::vector<ModeValue> modes;
};

struct Mapping {
  std::string name;
  Span span;
  std::vector<DeviceEntry> entries;
  /// A value for every device: every inherited entry of the name goes.
  bool Whole() const { return !entries.empty() && !entries.front().selector; }
};

struct FusionPart {
  std::string name;  // of a layer, or a class name or its end
  Span name_span;
  PathPattern pattern;  // of the paths of its modules
};

/// Several modules of one parent, in the order in which they are called, and the kernel that stands
/// for all of them. `mapping.name` is the names joined by `+`.
struct Fusion {
  std::vector<FusionPart> parts;
  Mapping mapping;
};

/// `[[model.layer]]`.
struct ExtraLayer {
  std::string name, class_name;
  Span name_span, class_span;
};

struct TargetSettings {
  Setting<std::optional<std::string>> device;
  Setting<std::optional<Capability>> capability;
  Setting<std::optional<std::string>> mode, torch;
  Setting<std::optional<std::string>> cuda, rocm, xpu;  // versions
};

struct Config {
  std::shared_ptr<const Source> source;
  std::string sha256;  // of the file's bytes
  Setting<bool> inherit_mapping{true, {}};
  Setting<std::string> default_mapping{"builtin", {}};
  Setting<bool> use_local_kernel, allow_all_kernels, deterministic;
  Setting<std::vector<std::string>> trusted_publishers{{"kernels-community"}, {}};  // sorted
  Setting<std::string> on_fallback{"report", {}};
  std::optional<Mapping> attn_implementation;  // as what `attention` is mapped to
  TargetSettings target;
  Setting<std::string> model_root;
  std::vector<std::string> model_inputs;
  std::vector<ExtraLayer> extra_classes;
  std::vector<Mapping> mappings;  // in the order of the file
  std::vector<Fusion> fusions;
};

/// Whether a sorted list of publishers, a config's or a policy's, has one.
inline bool HasPublisher(const std::vector<std::string>& sorted, const std::string& publisher) {
  return std::binary_search(sorted.begin(), sorted.end(), publisher);
}

/// Binds a document's root table. What is wrong is reported and left out of the config, so that
/// one reading reports everything; a config with errors is not to be resolved.
Config BindConfig(const Node& root, Diagnostics* diagnostics);

/// What only the whole config shows: intervals that clash, settings that contradict each other.
void CheckConfig(const Config& config, Diagnostics* diagnostics);

}  // namespace kernelmap
