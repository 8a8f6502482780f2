// What kernelmap knows of layers and kernels: the files under kernels/, embedded at build time.
//
// A layer file (kernels/layers/NAME.toml) says which classes may be the layer and, as TorchScript
// source, what its stock code computes. A kernel manifest (kernels/builtin/NAME/manifest.toml)
// says which of those references the kernel stands for and how it is called.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/layout.h"

namespace kernelmap {

struct LayerSource;  // compiler/store/layer_source.h

/// One way in which stock code computes a layer. `source` is TorchScript: helper functions, then
/// `def forward(...)`. Parameters of type Tensor bind to tensors, `float` and `int` parameters to
/// constants of the model.
struct Reference {
  std::string name;  // unique within the layer: "llama"
  std::string source;
  /// Whether a kernel of the Hub that says no more than the layer's name stands for this form too.
  bool by_name = true;
  /// Dimensions of tensor parameters where the code is the layer only for that many: tracing turns
  /// `x[..., :n]` into `x[:, :, :n]`.
  std::map<std::string, int> rank = {};
};

struct Layer {
  std::string name;                     // "RMSNorm", "rotary_pos_emb"
  bool function = false;                // matched inside modules, not as a module
  bool across_calls = false;            // of functions: a module that is called may be part of it
  bool member_only = false;             // known for fusions alone: no name that modules answer to
  std::vector<std::string> classes;     // whole class names that are this layer
  std::vector<std::string> hints;       // class names (or suffixes) that may be it
  std::vector<std::string> input;       // parameters of the references that are the module's inputs
  std::vector<std::string> operations;  // of functions: one that is the function already
  /// How modules call what the references' other parameters are: `eps` -> `variance_epsilon`. A
  /// parameter's own name always counts.
  std::map<std::string, std::vector<std::string>> attributes;
  std::vector<Reference> references;  // tried in this order

  /// The hint that a class name ends with; empty when there is none.
  std::string_view HintOf(std::string_view class_name) const;
};

/// The op that an archive calls where a kernel is not built in, and what it runs; compiled when the
/// archive is loaded (compiler/store/hub_kernel.h).
struct Adapter {
  std::string op;       // kernelmap_hub::OP
  std::string schema;   // "(Tensor x, Tensor weight, float eps) -> Tensor"
  std::string forward;  // TorchScript of the kernel's layer, in which `ops` are its operations
  std::string stock;    // TorchScript of what it stands for; "" where only a name was trusted
  friend bool operator==(const Adapter&, const Adapter&) = default;
};

/// One of the layers that a fused kernel stands for. `name` is what the layout calls it.
struct FusedMember {
  std::string name;  // "mlp"
  std::string layer;
  std::vector<std::string> references;
};

/// "RMSNorm+SwiGLUMLP": the layer that the members are together.
std::string JoinLayers(const std::vector<FusedMember>& members);

/// How a kernel computes a layer, or several at once: `source` is TorchScript whose
/// `def forward(...)` has the same parameters as the references it stands for.
struct Implementation {
  std::string layer;
  std::vector<std::string> references;  // names of references of the layer
  std::string source;
  std::vector<std::string> same_dtype;  // parameters that must have one dtype, when they are bound
  std::map<std::string, int> rank;      // parameters that must have this number of dimensions
  /// The kernel's parameters, of the stock modules'. Of a layer alone they name parameters as the
  /// references do, or by the path of the attribute: `gate_weight`, `gate_proj.weight`. A parameter
  /// of `source` without one is the reference's.
  std::map<std::string, Layout> layout;
  bool contiguous_output = true;   // false: a consumer that needs strides gets a copy
  std::optional<Adapter> adapter;  // which `source` calls

  /// Of a fusion, in order; `layer` is then their layers joined by `+`. A parameter of `source` is
  /// made by `layout`, or is one of `sizes`, or that of the first member whose reference has one of
  /// the name. Layouts name parameters as the references do: `mlp.gate_weight`.
  std::vector<FusedMember> members = {};
  /// All members take the same input, and `source` returns a result for each. Otherwise each takes
  /// the result of the one before it, and `source` returns that of the last.
  bool same_input = false;
  /// Whole numbers: the size of a parameter in its first dimension.
  std::map<std::string, std::string> sizes = {};
  /// Of kernels that are not built in, with a layout: TorchScript with the parameters of `source`
  /// that computes it in stock operations, for gradients and where the kernel cannot be had.
  std::string stock = {};
};

/// Where the code of a kernel that is not built in is from. `commit` is empty of a local one;
/// `digest` is that of the build variant.
struct KernelOrigin {
  std::string repo, commit, digest, name;
  std::string folder = "";  // of a local one; no archive says it
};

struct Kernel {
  std::string name;  // "rms_norm" of builtin:rms_norm
  std::string summary;
  std::vector<std::string> devices;  // "cpu", "cuda"
  std::vector<std::string> dtypes;   // "float32", "bfloat16", "float16"
  bool backward = false;
  bool torch_compile = false;
  bool deterministic = true;
  std::map<std::string, double> tolerance;  // dtype -> |a-b| <= tolerance * max|b|
  std::vector<Implementation> implementations;
  std::optional<KernelOrigin> origin;  // of one that is not built in
  /// Of one whose code is its layers.py: for sites where only the name is trusted.
  std::shared_ptr<const LayerSource> layer_source;
};

struct Catalogue {
  std::vector<Layer> layers;    // sorted by name
  std::vector<Kernel> kernels;  // sorted by name
  const Layer* FindLayer(std::string_view name) const;
  const Kernel* FindKernel(std::string_view name) const;
};

/// The embedded catalogue. Its files are checked by tests, so a broken one ends the program.
const Catalogue& BuiltinCatalogue();

/// One layer file's text. What is wrong with it ends the program: layer files are ours.
Layer ReadLayerFile(std::string_view name, std::string_view text);

/// The embedded text of kernels/default_mapping.toml.
std::string_view DefaultMappingText();

/// The embedded text of kernels/transformers_mapping.toml, which lies over the default mapping.
std::string_view TransformersMappingText();

}  // namespace kernelmap
