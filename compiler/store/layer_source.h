// A layer of a kernel repository as code: the `forward` of one class of layers.py, read as text,
// so that TorchScript's front end can compile it with `ops` as the kernel's operations.
//
// Text decides only what text can: what TorchScript never takes is refused here, with the
// construct; the rest is for its front end to say. Python does not run.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kernelmap {

/// A parameter of a function.
struct SourceParameter {
  std::string name;
  std::string type;                      // in TorchScript's words; "" when not annotated
  std::optional<std::string> otherwise;  // its default, as written
};

struct SourceSignature {
  std::vector<SourceParameter> parameters;
  std::string returns;  // "Tensor", "Tuple[Tensor, Tensor]"; "" when not annotated
};

struct LayerSource {
  std::string name;                     // of the class
  SourceSignature signature;            // of forward, without self
  std::vector<std::string> attributes;  // X of each `self.X` that forward reads, by first use
  std::string helpers;                  // functions of the file that forward calls
  std::string body;  // of forward, indented; `self.X` is written with `attribute_prefix`
  std::string attribute_prefix;  // "self_", which no name of the file starts with
  std::string unused_prefix;     // "unused_", likewise
};

/// Why a class cannot be used: "`**kwargs`", and the line of the file.
struct LayerProblem {
  std::string what;
  int line = 0;
  bool missing = false;  // there is no such class
};

/// The class `name` of a layers.py. What may be another class by the time that Python uses the name
/// is a problem: several of the name, a decorator, assignments to it or to its forward.
std::variant<LayerSource, LayerProblem> ReadLayerSource(std::string_view text,
                                                        std::string_view name);

/// The signature of `def forward` in TorchScript source of ours.
std::optional<SourceSignature> ReadForwardSignature(std::string_view source);

}  // namespace kernelmap
