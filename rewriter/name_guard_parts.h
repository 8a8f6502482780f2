// What a kernel's code takes, for guards that do not follow a reference: `name` and `numeric`.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "compiler/catalogue.h"
#include "compiler/store/layer_source.h"
#include "rewriter/expr/edit.h"
#include "rewriter/expr/execute.h"

namespace kernelmap {

/// Something of a module that a kernel reads: the names it may have, and the type ("" any).
struct WantedAttribute {
  std::vector<std::string> names;
  std::string type;
};

/// One way to call a kernel: inputs of the module's forward, then what the module has.
struct KernelCall {
  std::vector<SourceParameter> inputs;
  std::vector<WantedAttribute> others;
  const Implementation* implementation = nullptr;  // null: the code is `kernel->layer_source`
  const Kernel* kernel = nullptr;
};

/// The ways in which the kernel may be called for a layer, of which there is at least one; or
/// `signature`. `layer` is that of the catalogue, or null.
std::variant<std::vector<KernelCall>, expr::Refusal> KernelCalls(const Kernel& kernel,
                                                                 const std::string& layer_name,
                                                                 const Layer* layer);

/// Takes the tensors of forward as the first operands of `edit`. What does not fit; "" when all
/// does.
std::string TakeInputs(const expr::Graph& forward, const KernelCall& call, expr::Edit* edit);

/// The code of the call for `inputs` inputs, and `types` of what comes after them; or `signature`.
std::variant<std::shared_ptr<const Implementation>, expr::Refusal> MakeCall(
    const KernelCall& call, size_t inputs, const std::vector<std::string>& types);

/// "Tensor", "float", "int", "bool"; "" of other kinds.
std::string TypeName(expr::Kind kind);

}  // namespace kernelmap
