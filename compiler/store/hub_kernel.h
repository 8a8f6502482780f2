// A kernel of a repository as what the rewriter puts into a model: for each form of a layer, a call
// of one functional op, the adapter, and what that op runs.
//
// Archives call only adapters, `kernelmap_hub::NAME(Tensor x, …) -> Tensor`. A repository's own
// operations write into their arguments, in schemas that TorchScript's alias analysis rejects, and
// are registered only once its library is loaded. The adapter's name says repository, commit and
// layer, and ends in a hash of all that it stands for: one name never means two things.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "compiler/binding.h"
#include "compiler/catalogue.h"
#include "compiler/report.h"
#include "compiler/store/layer_source.h"

namespace kernelmap {

struct HubKernel {
  std::shared_ptr<const Kernel> kernel;
  std::optional<Reason> reason;  // when there is none: `python_only`, `no_implementation`
};

/// The kernel `origin.name` for the layer or function that is mapped. A binding that has code for
/// it says which forms it stands for. Else its layers.py (`layers`, the text) is the code, and
/// stands for each form whose inputs and attributes are those that it reads, unless the form is
/// marked otherwise. `layer` null: a fusion, for which a binding has the code; or a name that the
/// catalogue does not know, for which the kernel can stand by `guard = "name"` only.
HubKernel MakeHubKernel(const KernelOrigin& origin, const std::string& layers, const Layer* layer,
                        const BoundKernel* bound = nullptr);

/// The adapter of `source` for a function with the signature `called`, whose first parameters are
/// forward's inputs; `attributes` says for each attribute which parameter of `called` it is.
/// Nothing where a type has no form in a schema.
std::optional<Adapter> MakeAdapter(const KernelOrigin& origin, const LayerSource& source,
                                   const SourceSignature& called,
                                   const std::vector<std::string>& attributes, size_t inputs,
                                   const std::string& stock);

/// The name of an adapter's op: of all it stands for, whatever `adapter.op` says.
std::string AdapterName(const KernelOrigin& origin, const Adapter& adapter);

/// TorchScript that calls an adapter, `def forward(...)` with the adapter's signature.
std::string AdapterCall(const Adapter& adapter, const SourceSignature& called);

}  // namespace kernelmap
