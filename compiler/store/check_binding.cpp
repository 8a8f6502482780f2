#include "compiler/store/check_binding.h"

#include <algorithm>

#include "compiler/store/layer_source.h"
#include "compiler/store/source_check.h"

namespace kernelmap {
namespace {

bool SameType(const std::string& a, const std::string& b) {
  return (a.empty() ? "Tensor" : a) == (b.empty() ? "Tensor" : b);
}

// `code` takes what a form of the layer takes, and returns what it returns.
bool Fits(const SourceSignature& code, const SourceSignature& form) {
  if (code.parameters.size() != form.parameters.size() || !SameType(code.returns, form.returns)) {
    return false;
  }
  for (size_t i = 0; i < code.parameters.size(); ++i) {
    const SourceParameter &a = code.parameters[i], &b = form.parameters[i];
    if (a.name != b.name || !SameType(a.type, b.type) || a.otherwise) return false;
  }
  return true;
}

std::string ImplementationProblem(const Implementation& code, const Catalogue& catalogue) {
  const Layer* layer = catalogue.FindLayer(code.layer);
  if (!layer) return "no layer is called `" + code.layer + "`";
  if (const std::string what = CodeProblem(code.source); !what.empty()) {
    return "its code has " + what;
  }
  const auto signature = ReadForwardSignature(code.source);
  if (!signature) return "its code has no `forward`";
  for (const std::string& name : code.references) {
    const auto form = std::find_if(layer->references.begin(), layer->references.end(),
                                   [&](const Reference& r) { return r.name == name; });
    if (form == layer->references.end()) {
      return layer->name + " has no form that is called `" + name + "`";
    }
    const auto wanted = ReadForwardSignature(form->source);
    if (!wanted || !Fits(*signature, *wanted)) {
      return "its `forward` has not the parameters and results of `" + name + "`";
    }
  }
  return "";
}

}  // namespace

std::string BindingProblem(const Binding& binding, std::string_view repo,
                           const Catalogue& catalogue) {
  if (!repo.empty() && binding.repo != repo) return "it is for `" + binding.repo + "`";
  for (const BoundKernel& bound : binding.kernels) {
    for (const Implementation& code : bound.kernel.implementations) {
      const std::string problem = ImplementationProblem(code, catalogue);
      if (!problem.empty()) return "`" + bound.kernel.name + "`: " + problem;
    }
  }
  return "";
}

}  // namespace kernelmap
