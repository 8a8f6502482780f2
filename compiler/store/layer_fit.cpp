#include "compiler/store/layer_fit.h"

#include <algorithm>

#include "compiler/lower.h"

namespace kernelmap {
namespace {

// What a default may be: a number, a string, True, False or None.
bool IsLiteral(const std::string& text) {
  if (text == "True" || text == "False" || text == "None") return true;
  if (text.starts_with('"') || text.starts_with('\'')) return true;
  return !text.empty() && text.find_first_not_of("0123456789.e+-") == std::string::npos;
}

// The parameter of a reference that a module's attribute is; "" when none is.
std::string ParameterOf(const Layer& layer, const SourceSignature& reference,
                        const std::string& attribute) {
  for (const SourceParameter& parameter : reference.parameters) {
    const auto usual = layer.attributes.find(parameter.name);
    const bool known =
        usual != layer.attributes.end() &&
        std::find(usual->second.begin(), usual->second.end(), attribute) != usual->second.end();
    if (known || parameter.name == attribute) return parameter.name;
  }
  return "";
}

// How many parameters of a reference are what forward is called with; they are the first.
size_t InputCount(const Layer& layer, const SourceSignature& reference) {
  if (layer.function) return reference.parameters.size();
  size_t count = 0;
  while (count < reference.parameters.size() &&
         std::find(layer.input.begin(), layer.input.end(), reference.parameters[count].name) !=
             layer.input.end()) {
    ++count;
  }
  return count;
}

// Why forward cannot be called with the inputs of a reference; "" when it can.
std::string WrongInputs(const Layer& layer, const SourceSignature& reference, size_t inputs,
                        const LayerSource& source) {
  const std::vector<SourceParameter>& parameters = source.signature.parameters;
  if (parameters.size() < inputs) {
    return "takes " + std::to_string(parameters.size()) + " inputs, not " + std::to_string(inputs);
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (i >= inputs && !parameters[i].otherwise) return "needs `" + parameters[i].name + "`";
    if (i >= inputs && !IsLiteral(*parameters[i].otherwise)) {
      return "has a default of `" + parameters[i].name + "` that is no literal";
    }
    // Of a function the order alone says too little.
    if (i < inputs && layer.function && parameters[i].name != reference.parameters[i].name) {
      return "takes `" + parameters[i].name + "` where " + layer.name + " has `" +
             reference.parameters[i].name + "`";
    }
  }
  return "";
}

// What a kernel does not read, and the form computes with: "`up_weight` and `down_weight`".
std::string Unread(const SourceSignature& form, const FormFit& fit) {
  std::vector<std::string> names;
  for (size_t i = fit.inputs; i < form.parameters.size(); ++i) {
    const std::string& name = form.parameters[i].name;
    if (std::find(fit.attributes.begin(), fit.attributes.end(), name) == fit.attributes.end()) {
      names.push_back("`" + name + "`");
    }
  }
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 < names.size() ? ", " : " and ") + names[i];
  }
  return text;
}

bool IsCalled(const Layer& layer, const std::string& name) {
  const std::string lower = Lower(name);
  return Lower(layer.name) == lower ||
         std::any_of(layer.classes.begin(), layer.classes.end(),
                     [&](const std::string& known) { return Lower(known) == lower; });
}

}  // namespace

FormFit FitForm(const LayerSource& source, const Layer& layer, const SourceSignature& form) {
  FormFit fit;
  fit.inputs = InputCount(layer, form);
  fit.problem = WrongInputs(layer, form, fit.inputs, source);
  for (const std::string& attribute : source.attributes) {
    fit.attributes.push_back(ParameterOf(layer, form, attribute));
    if (fit.attributes.back().empty() && fit.problem.empty()) {
      fit.problem = "reads `self." + attribute + "`, which " + layer.name + " does not have";
    }
  }
  const std::string unread = Unread(form, fit);
  if (!unread.empty() && fit.problem.empty()) {
    fit.problem = "does not read " + unread + ", which " + layer.name + " computes with";
  }
  return fit;
}

std::string OtherLayer(const std::string& kernel, const Layer& layer, const BoundKernel* bound,
                       const Catalogue& catalogue) {
  if (bound && !bound->kernel.implementations.empty()) {
    const std::vector<Implementation>& all = bound->kernel.implementations;
    const bool fits = std::any_of(all.begin(), all.end(),
                                  [&](const Implementation& i) { return i.layer == layer.name; });
    return fits ? "" : all.front().layer;
  }
  if (IsCalled(layer, kernel)) return "";
  for (const Layer& other : catalogue.layers) {
    if (IsCalled(other, kernel)) return other.name;
  }
  return "";
}

}  // namespace kernelmap
