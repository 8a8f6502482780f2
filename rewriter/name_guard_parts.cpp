#include "rewriter/name_guard_parts.h"

#include <algorithm>
#include <utility>

#include "compiler/contains.h"
#include "compiler/store/hub_kernel.h"

namespace kernelmap {

using expr::Kind;
using expr::Refusal;

std::variant<std::vector<KernelCall>, Refusal> KernelCalls(const Kernel& kernel,
                                                           const std::string& layer_name,
                                                           const Layer* layer) {
  if (kernel.layer_source) {  // its forward reads attributes by their names
    const LayerSource& source = *kernel.layer_source;
    if (!source.signature.returns.empty() && source.signature.returns != "Tensor") {
      return Refusal{"signature", "the kernel returns " + source.signature.returns, ""};
    }
    KernelCall call{source.signature.parameters, {}, nullptr, &kernel};
    for (const std::string& attribute : source.attributes) call.others.push_back({{attribute}, ""});
    return std::vector<KernelCall>{call};
  }
  // Code with the parameters of a reference: what are no inputs are attributes by their usual
  // names.
  std::vector<KernelCall> calls;
  for (const Implementation& implementation : kernel.implementations) {
    if (!layer || implementation.layer != layer_name || !implementation.layout.empty()) continue;
    const std::optional<SourceSignature> signature = ReadForwardSignature(implementation.source);
    if (!signature) return Refusal{"signature", "the kernel's code has no signature", ""};
    KernelCall call{{}, {}, &implementation, &kernel};
    for (const SourceParameter& parameter : signature->parameters) {
      if (Contains(layer->input, parameter.name)) {
        call.inputs.push_back(parameter);
        continue;
      }
      WantedAttribute wanted{{parameter.name}, parameter.type};
      const auto usual = layer->attributes.find(parameter.name);
      if (usual != layer->attributes.end()) {
        wanted.names.insert(wanted.names.end(), usual->second.begin(), usual->second.end());
      }
      call.others.push_back(std::move(wanted));
    }
    calls.push_back(std::move(call));
  }
  if (!calls.empty()) return calls;
  return Refusal{"signature", "the kernel says nothing of how " + layer_name + " calls it", ""};
}

std::string TakeInputs(const expr::Graph& forward, const KernelCall& call, expr::Edit* edit) {
  const std::vector<SourceParameter>& parameters = call.inputs;
  const expr::Block& body = forward.body;
  const size_t inputs = body.inputs.empty() ? 0 : body.inputs.size() - 1;
  if (inputs > parameters.size()) {
    return "forward takes " + std::to_string(inputs) + " inputs, the kernel " +
           std::to_string(parameters.size());
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (i >= inputs) {
      if (!parameters[i].otherwise) return "the kernel needs `" + parameters[i].name + "` too";
      continue;
    }
    if (forward.kinds[body.inputs[i + 1]] != Kind::kTensor) return "an input is no tensor";
    if (!parameters[i].type.empty() && parameters[i].type != "Tensor" &&
        parameters[i].type != "Optional[Tensor]") {
      return "the kernel takes " + parameters[i].type + " `" + parameters[i].name + "`";
    }
    expr::Operand operand;
    operand.value = body.inputs[i + 1];
    edit->operands.push_back(operand);
  }
  return "";
}

std::variant<std::shared_ptr<const Implementation>, Refusal> MakeCall(
    const KernelCall& call, size_t inputs, const std::vector<std::string>& types) {
  if (call.implementation) return std::make_shared<const Implementation>(*call.implementation);
  const LayerSource& source = *call.kernel->layer_source;
  SourceSignature called;
  called.returns = "Tensor";
  std::vector<std::string> attributes;
  for (size_t i = 0; i < inputs; ++i) {
    called.parameters.push_back({source.signature.parameters[i].name, "Tensor", std::nullopt});
  }
  for (size_t i = 0; i < types.size(); ++i) {
    attributes.push_back(source.attribute_prefix + source.attributes[i]);
    called.parameters.push_back({attributes.back(), types[i], std::nullopt});
  }
  const std::optional<Adapter> adapter =
      MakeAdapter(*call.kernel->origin, source, called, attributes, inputs, /*stock=*/"");
  if (!adapter) return Refusal{"signature", "an attribute has a type that operations have not", ""};
  auto implementation = std::make_shared<Implementation>();
  implementation->source = AdapterCall(*adapter, called);
  implementation->contiguous_output = false;
  implementation->adapter = adapter;
  return implementation;
}

std::string TypeName(Kind kind) {
  switch (kind) {
    case Kind::kTensor:
      return "Tensor";
    case Kind::kFloat:
      return "float";
    case Kind::kInt:
      return "int";
    case Kind::kBool:
      return "bool";
    default:
      return "";
  }
}

}  // namespace kernelmap
