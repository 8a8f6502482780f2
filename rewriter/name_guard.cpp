#include "rewriter/name_guard.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/store/hub_kernel.h"
#include "compiler/store/layer_source.h"

namespace kernelmap {
namespace {

using expr::Kind;
using expr::Operand;
using expr::Refusal;

// An attribute that a kernel reads: the names it may have, and the type it must have ("" any).
struct Wanted {
  std::vector<std::string> names;
  std::string type;
};

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

class Replacer {
 public:
  Replacer(const expr::Program& program, const expr::Frame& frame)
      : object_(program.objects[frame.object]), graph_(program.graphs[frame.graph]) {
    edit_.graph = frame.graph;
    edit_.result_only = true;
    edit_.needs_contiguous = true;
  }

  // Why forward's own signature does not fit; "" when it does.
  std::string TakeInputs(const std::vector<SourceParameter>& parameters) {
    const expr::Block& body = graph_.body;
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
      if (graph_.kinds[body.inputs[i + 1]] != Kind::kTensor) return "an input is no tensor";
      if (!parameters[i].type.empty() && parameters[i].type != "Tensor" &&
          parameters[i].type != "Optional[Tensor]") {
        return "the kernel takes " + parameters[i].type + " `" + parameters[i].name + "`";
      }
      Operand operand;
      operand.value = body.inputs[i + 1];
      edit_.operands.push_back(operand);
    }
    if (body.outputs.size() != 1 || graph_.kinds[body.outputs[0]] != Kind::kTensor) {
      return "forward does not return one tensor";
    }
    edit_.replaced = {body.outputs[0]};
    return "";
  }

  // The type of the attribute; nothing where the module has none that fits.
  std::optional<std::string> TakeAttribute(const Wanted& wanted) {
    for (const std::string& name : wanted.names) {
      const expr::Constant* value = object_.Find(name);
      const std::string type = value ? TypeName(value->kind) : "";
      if (type.empty() || (!wanted.type.empty() && type != wanted.type)) continue;
      Operand operand;
      operand.from = Operand::From::kAttribute;
      operand.path = {name};
      edit_.operands.push_back(operand);
      return type;
    }
    return std::nullopt;
  }

  size_t operands() const { return edit_.operands.size(); }
  expr::Edit edit() && { return std::move(edit_); }

 private:
  const expr::Object& object_;
  const expr::Graph& graph_;
  expr::Edit edit_;
};

Refusal NoAttribute(const std::string& name) {
  return {"no_attribute", "the kernel reads `" + name + "`", ""};
}

// A layer of a repository: its forward reads attributes by their names.
std::variant<NamedEdit, Refusal> ReplaceBySource(const Kernel& kernel, Replacer replacer) {
  const LayerSource& source = *kernel.layer_source;
  if (const std::string why = replacer.TakeInputs(source.signature.parameters); !why.empty()) {
    return Refusal{"signature", why, ""};
  }
  if (!source.signature.returns.empty() && source.signature.returns != "Tensor") {
    return Refusal{"signature", "the kernel returns " + source.signature.returns, ""};
  }
  const size_t inputs = replacer.operands();
  SourceSignature called;
  called.returns = "Tensor";
  std::vector<std::string> attributes;
  for (size_t i = 0; i < inputs; ++i) {
    called.parameters.push_back({source.signature.parameters[i].name, "Tensor", std::nullopt});
  }
  for (const std::string& attribute : source.attributes) {
    const std::optional<std::string> type = replacer.TakeAttribute({{attribute}, ""});
    if (!type) return NoAttribute(attribute);
    attributes.push_back(source.attribute_prefix + attribute);
    called.parameters.push_back({attributes.back(), *type, std::nullopt});
  }
  const std::optional<Adapter> adapter =
      MakeAdapter(*kernel.origin, source, called, attributes, inputs, /*stock=*/"");
  if (!adapter) return Refusal{"signature", "an attribute has a type that operations have not", ""};
  auto implementation = std::make_shared<Implementation>();
  implementation->source = AdapterCall(*adapter, called);
  implementation->contiguous_output = false;
  implementation->adapter = adapter;
  return NamedEdit{std::move(replacer).edit(), std::move(implementation)};
}

// Code with the parameters of a reference: what are no inputs are attributes by their usual names.
std::variant<NamedEdit, Refusal> ReplaceByReference(const Implementation& implementation,
                                                    const Layer& layer, Replacer replacer) {
  const std::optional<SourceSignature> signature = ReadForwardSignature(implementation.source);
  if (!signature) return Refusal{"signature", "the kernel's code has no signature", ""};
  std::vector<SourceParameter> inputs, others;
  for (const SourceParameter& parameter : signature->parameters) {
    const bool is_input =
        std::find(layer.input.begin(), layer.input.end(), parameter.name) != layer.input.end();
    (is_input ? inputs : others).push_back(parameter);
  }
  if (const std::string why = replacer.TakeInputs(inputs); !why.empty()) {
    return Refusal{"signature", why, ""};
  }
  for (const SourceParameter& parameter : others) {
    Wanted wanted{{parameter.name}, parameter.type};
    const auto usual = layer.attributes.find(parameter.name);
    if (usual != layer.attributes.end()) {
      wanted.names.insert(wanted.names.end(), usual->second.begin(), usual->second.end());
    }
    if (!replacer.TakeAttribute(wanted)) return NoAttribute(parameter.name);
  }
  auto copy = std::make_shared<Implementation>(implementation);
  return NamedEdit{std::move(replacer).edit(), std::move(copy)};
}

}  // namespace

std::variant<NamedEdit, Refusal> ReplaceByName(const Kernel& kernel, const std::string& layer_name,
                                               const Layer* layer, const expr::Program& program,
                                               const expr::Frame& frame) {
  Replacer replacer(program, frame);
  if (kernel.layer_source) return ReplaceBySource(kernel, std::move(replacer));
  for (const Implementation& implementation : kernel.implementations) {
    if (layer && implementation.layer == layer_name) {
      return ReplaceByReference(implementation, *layer, std::move(replacer));
    }
  }
  return Refusal{"signature", "the kernel says nothing of how " + layer_name + " calls it", ""};
}

}  // namespace kernelmap
