#include "rewriter/layout_facts.h"

namespace kernelmap {
namespace {

std::string Wrong(const Layout& layout, const std::string& why) {
  return "`" + layout.Text() + "`: " + why;
}

std::variant<TensorFacts, std::string> Concat(const Layout& layout,
                                              const std::vector<TensorFacts>& operands) {
  TensorFacts all = operands[0];
  const std::int64_t rank = static_cast<std::int64_t>(all.shape.size());
  const std::int64_t dim = layout.integers[0] < 0 ? layout.integers[0] + rank : layout.integers[0];
  if (dim < 0 || dim >= rank) return Wrong(layout, "there is no such dimension");
  for (std::size_t i = 1; i < operands.size(); ++i) {
    TensorFacts one = operands[i];
    if (one.dtype != all.dtype) return Wrong(layout, "the dtypes differ");
    if (one.shape.size() != all.shape.size()) return Wrong(layout, "the shapes do not fit");
    const std::int64_t size = one.shape[dim];
    one.shape[dim] = all.shape[dim];
    if (one.shape != all.shape) return Wrong(layout, "the shapes do not fit");
    all.shape[dim] += size;
  }
  return all;
}

std::variant<TensorFacts, std::string> Chunk(const Layout& layout, TensorFacts whole) {
  const std::int64_t rank = static_cast<std::int64_t>(whole.shape.size());
  const std::int64_t dim = layout.integers[1] < 0 ? layout.integers[1] + rank : layout.integers[1];
  if (dim < 0 || dim >= rank) return Wrong(layout, "there is no such dimension");
  if (whole.shape[dim] % layout.integers[0] != 0) {
    return Wrong(layout, "the dimension has no such number of equal parts");
  }
  whole.shape[dim] /= layout.integers[0];
  return whole;
}

std::variant<TensorFacts, std::string> Transpose(const Layout& layout, TensorFacts tensor) {
  const std::int64_t rank = static_cast<std::int64_t>(tensor.shape.size());
  std::int64_t dims[2];
  for (int i = 0; i < 2; ++i) {
    dims[i] = layout.integers[i] < 0 ? layout.integers[i] + rank : layout.integers[i];
    if (dims[i] < 0 || dims[i] >= rank) return Wrong(layout, "there is no such dimension");
  }
  std::swap(tensor.shape[dims[0]], tensor.shape[dims[1]]);
  return tensor;
}

}  // namespace

std::variant<TensorFacts, std::string> LayoutFacts(
    const Layout& layout, const std::function<TensorFacts(const std::string& path)>& parameter) {
  if (layout.kind == Layout::Kind::kParameter) return parameter(layout.path);
  std::vector<TensorFacts> operands;  // without numbers
  for (const Layout& operand : layout.operands) {
    if (operand.kind == Layout::Kind::kNumber) continue;
    auto facts = LayoutFacts(operand, parameter);
    if (std::holds_alternative<std::string>(facts)) return facts;
    operands.push_back(std::get<TensorFacts>(std::move(facts)));
  }
  switch (layout.kind) {
    case Layout::Kind::kConcat:
      return Concat(layout, operands);
    case Layout::Kind::kChunk:
      return Chunk(layout, operands[0]);
    case Layout::Kind::kTranspose:
      return Transpose(layout, operands[0]);
    default:
      break;
  }
  for (const TensorFacts& operand : operands) {
    if (!expr::IsFloating(operand.dtype)) return Wrong(layout, "only floats are calculated with");
    if (operand.dtype != operands[0].dtype || operand.shape != operands[0].shape) {
      return Wrong(layout, "the operands differ in dtype or shape");
    }
  }
  return operands[0];
}

}  // namespace kernelmap
