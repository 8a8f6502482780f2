// Layout expressions: how a parameter of a kernel comes from the parameters of the modules that it
// stands for. `norm.weight + 1`, `concat(gate_proj.weight, up_proj.weight, dim=0)`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/languages.h"

namespace kernelmap {

/// One node of the tree. `chunk(w, 2, dim=0)[1]` is kChunk with one operand, and integers
/// {2, 0, 1}: the number of chunks, the dimension, and which one.
struct Layout {
  enum class Kind {
    kParameter,  // `path`, below the module or the fusion's parent
    kNumber,
    kConcat,     // operands; integers {dim}
    kChunk,      // operand; integers {chunks, dim, index}
    kTranspose,  // operand; integers {dim0, dim1}
    kAdd,        // two operands each; at least one is no number
    kSubtract,
    kMultiply,
    kDivide,
  };
  Kind kind = Kind::kNumber;
  std::string path;
  double number = 0;
  std::vector<Layout> operands;
  std::vector<int64_t> integers;

  /// The paths of all parameters in it, in the order of the text, each once.
  std::vector<std::string> Parameters() const;
  /// In one form: `concat(a.weight, b.weight, dim=0)`.
  std::string Text() const;
};

/// Brackets may not be nested deeper.
inline constexpr int kMaxLayoutDepth = 16;

/// The tree, or nothing and a diagnostic.
std::optional<Layout> ParseLayout(const SubText& text, Diagnostics* diagnostics);

}  // namespace kernelmap
