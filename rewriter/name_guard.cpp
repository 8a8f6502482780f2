#include "rewriter/name_guard.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "rewriter/name_guard_parts.h"

namespace kernelmap {
namespace {

using expr::Kind;
using expr::Operand;
using expr::Refusal;

// The type of the module's attribute, which becomes an operand; nothing where it has none that
// fits.
std::optional<std::string> TakeAttribute(const expr::Object& object, const WantedAttribute& wanted,
                                         expr::Edit* edit) {
  for (const std::string& name : wanted.names) {
    const expr::Constant* value = object.Find(name);
    const std::string type = value ? TypeName(value->kind) : "";
    if (type.empty() || (!wanted.type.empty() && type != wanted.type)) continue;
    Operand operand;
    operand.from = Operand::From::kAttribute;
    operand.path = {name};
    edit->operands.push_back(operand);
    return type;
  }
  return std::nullopt;
}

// Parameters or buffers, of the module or of those in it.
bool HoldsTensors(const expr::Program& program, int object) {
  const auto& attributes = program.objects[object].attributes;
  return std::any_of(attributes.begin(), attributes.end(), [&](const auto& entry) {
    const expr::Constant& value = entry.second;
    if (value.kind == Kind::kTensor) return true;
    return value.kind == Kind::kObject && HoldsTensors(program, static_cast<int>(value.integer));
  });
}

}  // namespace

std::variant<NamedEdit, Refusal> ReplaceByName(const Kernel& kernel, const std::string& layer_name,
                                               const Layer* layer, const expr::Program& program,
                                               const expr::Frame& frame) {
  const auto calls = KernelCalls(kernel, layer_name, layer);
  if (const auto* refusal = std::get_if<Refusal>(&calls)) return *refusal;
  const KernelCall& call = std::get<std::vector<KernelCall>>(calls)[0];
  const expr::Graph& graph = program.graphs[frame.graph];
  expr::Edit edit{.graph = frame.graph, .result_only = true, .needs_contiguous = true};
  if (const std::string why = TakeInputs(graph, call, &edit); !why.empty()) {
    return Refusal{"signature", why, ""};
  }
  const size_t inputs = edit.operands.size();
  if (graph.body.outputs.size() != 1 || graph.kinds[graph.body.outputs[0]] != Kind::kTensor) {
    return Refusal{"signature", "forward does not return one tensor", ""};
  }
  // Only a part of the module can be what the kernel stands for.
  if (call.others.empty() && HoldsTensors(program, frame.object)) {
    return Refusal{"signature", "the kernel reads none of the module's parameters", ""};
  }
  edit.replaced = {graph.body.outputs[0]};
  std::vector<std::string> types;
  for (const WantedAttribute& wanted : call.others) {
    const auto type = TakeAttribute(program.objects[frame.object], wanted, &edit);
    if (!type) return Refusal{"no_attribute", "the kernel reads `" + wanted.names[0] + "`", ""};
    types.push_back(*type);
  }
  auto code = MakeCall(call, inputs, types);
  if (const auto* refusal = std::get_if<Refusal>(&code)) return *refusal;
  return NamedEdit{std::move(edit),
                   std::get<std::shared_ptr<const Implementation>>(std::move(code))};
}

}  // namespace kernelmap
