// What a layout makes, seen without running it: dtype and shape of the new parameter.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/layout.h"
#include "rewriter/expr/dtype.h"

namespace kernelmap {

struct TensorFacts {
  expr::DType dtype = expr::kUnknownDType;
  std::vector<std::int64_t> shape;
};

/// The facts, or why the layout does not fit the parameters. `parameter` gives those of a path,
/// which must all be known. Tensors are never broadcast or converted.
std::variant<TensorFacts, std::string> LayoutFacts(
    const Layout& layout, const std::function<TensorFacts(const std::string& path)>& parameter);

}  // namespace kernelmap
