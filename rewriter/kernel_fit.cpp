#include "rewriter/kernel_fit.h"

#include <map>

#include "compiler/contains.h"

namespace kernelmap {
const Kernel* KernelOf(const PlanEntry& entry, const Catalogue& catalogue) {
  if (!entry.kernel) return nullptr;
  if (entry.code) return entry.code.get();
  return entry.kernel->trust == "builtin" ? catalogue.FindKernel(entry.kernel->name) : nullptr;
}

const Implementation* FindImplementation(const Kernel& kernel, const std::string& layer,
                                         const std::string& reference) {
  for (const Implementation& i : kernel.implementations) {
    if (i.layer == layer && Contains(i.references, reference)) return &i;
  }
  return nullptr;
}

std::optional<expr::Refusal> OperandMisfit(const Kernel& kernel,
                                           const Implementation& implementation,
                                           const expr::Arena& arena, const expr::Pattern& pattern,
                                           const expr::Binding& binding) {
  std::map<std::string, expr::DType> same;
  for (std::size_t i = 0; i < binding.size(); ++i) {
    if (arena[pattern.variables[i]].kind != expr::Kind::kTensor) continue;
    const expr::Expr& operand = arena[binding[i]];
    const std::string& name = pattern.reference.parameters[i];
    const std::string dtype = expr::DTypeName(operand.dtype);
    // Booleans take the place of no floating operand, so a mask need not be named.
    const bool is_mask = operand.dtype == expr::kBoolDType && !implementation.same_dtype.empty() &&
                         !Contains(implementation.same_dtype, name);
    if (!is_mask && !Contains(kernel.dtypes, dtype)) {
      const bool unknown = operand.dtype == expr::kUnknownDType;
      return expr::Refusal{"dtype",
                           unknown ? "the dtype of `" + name +
                                         "` is not known; the config can say those of the model's "
                                         "inputs: [model] inputs = [\"float32\"]"
                                   : "`" + name + "` is " + dtype,
                           ""};
    }
    if (Contains(implementation.same_dtype, name)) same.emplace(name, operand.dtype);
    const auto rank = implementation.rank.find(name);
    if (rank != implementation.rank.end() && operand.rank != rank->second) {
      const std::string seen =
          operand.rank < 0 ? "an unknown number of" : std::to_string(operand.rank);
      return expr::Refusal{
          "shape",
          "`" + name + "` has " + seen + " dimensions, not " + std::to_string(rank->second), ""};
    }
  }
  for (const auto& [name, dtype] : same) {
    if (dtype == same.begin()->second) continue;
    return expr::Refusal{"dtype",
                         "`" + same.begin()->first + "` is " +
                             expr::DTypeName(same.begin()->second) + " and `" + name + "` is " +
                             expr::DTypeName(dtype),
                         ""};
  }
  return std::nullopt;
}

std::optional<expr::Refusal> RankMisfit(const Layer* layer, const expr::Arena& arena,
                                        const expr::Pattern& pattern,
                                        const expr::Binding& binding) {
  if (!layer) return std::nullopt;
  for (const Reference& reference : layer->references) {
    if (reference.name != pattern.reference.name) continue;
    for (std::size_t i = 0; i < binding.size(); ++i) {
      const std::string& name = pattern.reference.parameters[i];
      const auto rank = reference.rank.find(name);
      const int found = arena[binding[i]].rank;
      if (rank == reference.rank.end() || found < 0 || found == rank->second) continue;
      return expr::Refusal{"different_code",
                           "`" + name + "` has " + std::to_string(found) + " dimensions, not " +
                               std::to_string(rank->second),
                           ""};
    }
  }
  return std::nullopt;
}

}  // namespace kernelmap
