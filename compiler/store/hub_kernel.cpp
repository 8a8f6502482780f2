#include "compiler/store/hub_kernel.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "compiler/sha256.h"
#include "compiler/store/layer_fit.h"

namespace kernelmap {
namespace {

// The name of a type in an op's schema; "" for one that has none here.
std::string SchemaType(const std::string& type) {
  static const std::map<std::string, std::string, std::less<>> kTypes = {
      {"", "Tensor"},   {"Tensor", "Tensor"}, {"int", "int"},        {"float", "float"},
      {"bool", "bool"}, {"str", "str"},       {"List[int]", "int[]"}};
  if (type.starts_with("Optional[") && type.ends_with("]")) {
    const std::string inner = SchemaType(type.substr(9, type.size() - 10));
    return inner.empty() ? "" : inner + "?";
  }
  const auto it = kTypes.find(type);
  return it == kTypes.end() ? "" : it->second;
}

// "(Tensor, Tensor)" of "Tuple[Tensor, Tensor]".
std::string SchemaReturns(const std::string& type) {
  if (!type.starts_with("Tuple[") || !type.ends_with("]")) return SchemaType(type);
  std::string text = type.substr(6, type.size() - 7), list;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(", ", at), text.size());
    const std::string item = SchemaType(text.substr(at, comma - at));
    if (item.empty()) return "";
    list += (list.empty() ? "" : ", ") + item;
    at = comma + 2;
  }
  return "(" + list + ")";
}

// The schema of a function; false where a type has no form in one.
bool SetSchema(const SourceSignature& called, Adapter* adapter) {
  std::string parameters;
  for (const SourceParameter& parameter : called.parameters) {
    const std::string type = SchemaType(parameter.type);
    if (type.empty()) return false;
    parameters += (parameters.empty() ? "" : ", ") + type + " " + parameter.name;
  }
  const std::string returns = SchemaReturns(called.returns);
  adapter->schema = "(" + parameters + ") -> " + returns;
  return !returns.empty();
}

std::string TypeOf(const std::string& written) { return written.empty() ? "Tensor" : written; }

// "def forward(x: Tensor, eps: float) -> Tensor:\n".
std::string HeadOf(const SourceSignature& signature) {
  std::string parameters;
  for (const SourceParameter& p : signature.parameters) {
    parameters += (parameters.empty() ? "" : ", ") + p.name + ": " + TypeOf(p.type);
  }
  return "def forward(" + parameters + ") -> " + TypeOf(signature.returns) + ":\n";
}

// "(x, eps)".
std::string ArgumentsOf(const SourceSignature& signature) {
  std::string names;
  for (const SourceParameter& p : signature.parameters)
    names += (names.empty() ? "" : ", ") + p.name;
  return "(" + names + ")";
}

std::string TypeOfDefault(const std::string& text) {
  if (text == "True" || text == "False") return "bool";
  if (text == "None") return "Optional[Tensor]";
  if (text.starts_with('"') || text.starts_with('\'')) return "str";
  return text.find_first_of(".e") == std::string::npos ? "int" : "float";
}

std::string Identifier(std::string text) {
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  const bool digit = !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) != 0;
  return digit ? "_" + text : text;
}

}  // namespace

std::string AdapterName(const KernelOrigin& origin, const Adapter& adapter) {
  std::string all;
  for (const std::string* part : {&origin.repo, &origin.commit, &origin.digest, &origin.name,
                                  &adapter.schema, &adapter.forward, &adapter.stock}) {
    all += std::to_string(part->size()) + ":" + *part;
  }
  std::string digest = origin.digest.substr(origin.digest.find('-') + 1);
  const std::string version = (origin.commit.empty() ? digest : origin.commit).substr(0, 8);
  const std::string where = origin.repo.empty() ? "local" : origin.repo;
  return Identifier(where + "_" + version) + "__" + Identifier(origin.name) + "_" +
         Sha256(all).substr(0, 32);
}

std::optional<Adapter> MakeAdapter(const KernelOrigin& origin, const LayerSource& source,
                                   const SourceSignature& called,
                                   const std::vector<std::string>& attributes, size_t inputs,
                                   const std::string& stock) {
  Adapter adapter;
  adapter.stock = stock;
  if (!SetSchema(called, &adapter)) return std::nullopt;
  SourceSignature renamed = called;
  for (size_t i = 0; i < called.parameters.size(); ++i) {
    std::string& name = renamed.parameters[i].name;
    name = source.unused_prefix + called.parameters[i].name;
    if (i < inputs) name = source.signature.parameters[i].name;
    for (size_t a = 0; a < attributes.size(); ++a) {
      if (attributes[a] == called.parameters[i].name) {
        name = source.attribute_prefix + source.attributes[a];
      }
    }
  }
  adapter.forward = source.helpers + HeadOf(renamed);
  // Layers are written for tensors without gaps.
  for (size_t i = 0; i < inputs; ++i) {
    if (TypeOf(called.parameters[i].type) != "Tensor") continue;
    const std::string& name = source.signature.parameters[i].name;
    adapter.forward += "    " + name + " = " + name + ".contiguous()\n";
  }
  const std::string& prefix = source.attribute_prefix;
  // Two attributes may be one parameter, `self.eps` and `self.variance_epsilon`: it has one name.
  for (size_t a = 0; a < attributes.size(); ++a) {
    const auto last = std::find(attributes.rbegin(), attributes.rend(), attributes[a]);
    const size_t named = attributes.size() - 1 - static_cast<size_t>(last - attributes.rbegin());
    if (named == a) continue;
    adapter.forward +=
        "    " + prefix + source.attributes[a] + " = " + prefix + source.attributes[named] + "\n";
  }
  for (size_t i = inputs; i < source.signature.parameters.size(); ++i) {
    const SourceParameter& extra = source.signature.parameters[i];
    const std::string value = extra.otherwise.value_or("None");
    adapter.forward += "    " + extra.name + ": " +
                       (extra.type.empty() ? TypeOfDefault(value) : extra.type) + " = " + value +
                       "\n";
  }
  adapter.forward += source.body;
  adapter.op = AdapterName(origin, adapter);
  return adapter;
}

std::string AdapterCall(const Adapter& adapter, const SourceSignature& called) {
  return HeadOf(called) + "    return torch.ops.kernelmap_hub." + adapter.op + ArgumentsOf(called) +
         "\n";
}

namespace {

// A form that only holds for some numbers of dimensions: for others the stock code runs. Nothing
// where the two texts may not stand in one.
std::optional<std::string> GuardRank(const Reference& reference, const SourceSignature& signature,
                                     const std::string& forward) {
  if (reference.rank.empty()) return forward;
  std::string stock = reference.source, kernel = forward;
  const std::string head = "def forward(";
  if (stock.find("def ") != stock.rfind("def ") || !stock.starts_with(head)) return std::nullopt;
  const size_t at = kernel.rfind(head);
  if (at == std::string::npos) return std::nullopt;
  stock.replace(0, head.size(), "def stock_forward(");
  kernel.replace(at, head.size(), "def kernel_forward(");
  std::string other;
  for (const auto& [name, rank] : reference.rank) {
    other += (other.empty() ? "" : " or ") + name + ".dim() != " + std::to_string(rank);
  }
  const std::string arguments = ArgumentsOf(signature);
  return stock + kernel + HeadOf(signature) + "    if " + other +
         ":\n        return stock_forward" + arguments + "\n    return kernel_forward" + arguments +
         "\n";
}

// The kernel's code for one form. `implementation` says what else is known of it.
void AddForm(const Reference& reference, const SourceSignature& signature, Adapter adapter,
             Implementation implementation, Kernel* kernel) {
  const std::optional<std::string> forward = GuardRank(reference, signature, adapter.forward);
  if (!forward) return;
  adapter.forward = *forward;
  adapter.stock = reference.source;
  adapter.op = AdapterName(*kernel->origin, adapter);
  implementation.references = {reference.name};
  implementation.source = AdapterCall(adapter, signature);
  implementation.adapter = std::move(adapter);
  kernel->implementations.push_back(std::move(implementation));
}

// Code of layers.py for each form of a layer that it can stand for; "", or why for none.
std::string ImplementFromSource(const LayerSource& source, const Layer& layer, Kernel* kernel) {
  std::string wrong;
  for (const Reference& reference : layer.references) {
    const std::optional<SourceSignature> signature = ReadForwardSignature(reference.source);
    if (!reference.by_name || !signature) continue;
    FormFit fit = FitForm(source, layer, *signature);
    std::optional<Adapter> adapter;
    if (fit.problem.empty()) {
      adapter = MakeAdapter(*kernel->origin, source, *signature, fit.attributes, fit.inputs,
                            reference.source);
      if (!adapter) fit.problem = "has a parameter of a type that operations do not have";
    }
    if (wrong.empty()) wrong = fit.problem;
    if (!adapter) continue;
    Implementation implementation;
    implementation.layer = layer.name;
    implementation.contiguous_output = false;
    AddForm(reference, *signature, *std::move(adapter), std::move(implementation), kernel);
  }
  if (!kernel->implementations.empty()) return "";
  return wrong.empty() ? "stands for no form of " + layer.name : wrong;
}

// Code whose parameters are made of the stock modules', so that no reference takes them.
void AddMade(const SourceSignature& signature, Adapter adapter, Implementation implementation,
             std::vector<std::string> references, Kernel* kernel) {
  adapter.stock = implementation.stock;
  adapter.op = AdapterName(*kernel->origin, adapter);
  implementation.references = std::move(references);
  implementation.source = AdapterCall(adapter, signature);
  implementation.adapter = std::move(adapter);
  kernel->implementations.push_back(std::move(implementation));
}

// Code of a binding that stands for several modules.
void FuseFromBinding(const BoundKernel& bound, Kernel* kernel) {
  for (const Implementation& written : bound.kernel.implementations) {
    const std::optional<SourceSignature> signature = ReadForwardSignature(written.source);
    Adapter adapter;
    if (written.members.empty() || !signature || !SetSchema(*signature, &adapter)) continue;
    adapter.forward = written.source;
    AddMade(*signature, std::move(adapter), written, {}, kernel);
  }
}

// Code of a binding, whose parameters are those of the references that it names.
void ImplementFromBinding(const BoundKernel& bound, const Layer& layer, Kernel* kernel) {
  for (const Implementation& written : bound.kernel.implementations) {
    if (written.layer != layer.name) continue;
    const std::optional<SourceSignature> signature = ReadForwardSignature(written.source);
    for (const Reference& reference : layer.references) {
      const bool named = std::find(written.references.begin(), written.references.end(),
                                   reference.name) != written.references.end();
      Adapter adapter;
      if (!named || !signature || !SetSchema(*signature, &adapter)) continue;
      adapter.forward = written.source;
      if (!written.layout.empty()) {
        // For other numbers of dimensions stock code would have to run, on parameters that are
        // gone.
        if (reference.rank.empty()) {
          AddMade(*signature, std::move(adapter), written, {reference.name}, kernel);
        }
        continue;
      }
      AddForm(reference, *signature, std::move(adapter), written, kernel);
    }
  }
}

HubKernel Refused(std::string code, std::string text) {
  return {nullptr, Reason{std::move(code), std::move(text), ""}};
}

}  // namespace

HubKernel MakeHubKernel(const KernelOrigin& origin, const std::string& layers, const Layer* layer,
                        const BoundKernel* bound) {
  auto kernel = std::make_shared<Kernel>();
  kernel->name = origin.name;
  if (layer) {
    const std::string other = OtherLayer(origin.name, *layer, bound, BuiltinCatalogue());
    if (!other.empty()) {
      return Refused("no_implementation",
                     "`" + origin.name + "` is a kernel for " + other + ", not for " + layer->name);
    }
  }
  kernel->dtypes = {"float32", "bfloat16", "float16"};
  kernel->deterministic = false;
  kernel->origin = origin;
  if (bound) {
    if (!bound->kernel.dtypes.empty()) kernel->dtypes = bound->kernel.dtypes;
    kernel->devices = bound->kernel.devices;
    kernel->deterministic = bound->kernel.deterministic;
    kernel->tolerance = bound->kernel.tolerance;
    if (layer) {
      ImplementFromBinding(*bound, *layer, kernel.get());
    } else {
      FuseFromBinding(*bound, kernel.get());
    }
    if (!kernel->implementations.empty()) return {kernel, std::nullopt};
  }
  auto read = ReadLayerSource(layers, origin.name);
  if (const auto* problem = std::get_if<LayerProblem>(&read)) {
    const std::string line =
        problem->line > 0 ? " (line " + std::to_string(problem->line) + ")" : "";
    return Refused(problem->missing ? "no_implementation" : "python_only",
                   "its layers.py has " + problem->what + line);
  }
  kernel->layer_source =
      std::make_shared<const LayerSource>(std::get<LayerSource>(std::move(read)));
  if (!layer) return {kernel, std::nullopt};
  const std::string wrong = ImplementFromSource(*kernel->layer_source, *layer, kernel.get());
  if (!wrong.empty()) return Refused("no_implementation", "`" + origin.name + "` " + wrong);
  return {kernel, std::nullopt};
}

}  // namespace kernelmap
