#include "compiler/store/check_binding.h"

#include <algorithm>
#include <memory>

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

std::string NoForm(const Layer& layer, const std::string& name) {
  return layer.name + " has no form that is called `" + name + "`";
}

const Reference* FindForm(const Layer& layer, const std::string& name) {
  for (const Reference& reference : layer.references) {
    if (reference.name == name) return &reference;
  }
  return nullptr;
}

const SourceParameter* FindParameter(const SourceSignature& signature, const std::string& name) {
  for (const SourceParameter& parameter : signature.parameters) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

// Parameters of the code that are made by its layout, or counted.
bool IsMade(const Implementation& code, const SourceParameter& parameter) {
  if (parameter.otherwise) return false;
  if (code.layout.contains(parameter.name)) return SameType(parameter.type, "Tensor");
  return code.sizes.contains(parameter.name) && parameter.type == "int";
}

// What is wrong with code that has a layout, for one form of a layer: it takes the layer's inputs
// first, then what is made or the form has.
std::string LayoutProblem(const Implementation& code, const SourceSignature& signature,
                          const Layer& layer, const Reference& form) {
  const auto wanted = ReadForwardSignature(form.source);
  if (!wanted || !SameType(signature.returns, wanted->returns)) {
    return "its `forward` has not the results of `" + form.name + "`";
  }
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    const SourceParameter& parameter = signature.parameters[i];
    if (IsMade(code, parameter)) continue;
    const SourceParameter* same = FindParameter(*wanted, parameter.name);
    if (!same || !SameType(same->type, parameter.type) || parameter.otherwise) {
      return "`" + parameter.name + "` is neither made by its layout nor a parameter of `" +
             form.name + "`";
    }
  }
  for (size_t i = 0; i < layer.input.size(); ++i) {
    if (i >= signature.parameters.size() || signature.parameters[i].name != layer.input[i]) {
      return "its `forward` does not take `" + layer.input[i] + "` where `" + form.name + "` does";
    }
  }
  return "";
}

// The same for a fusion.
std::string FusionProblem(const Implementation& code, const SourceSignature& signature,
                          const Catalogue& catalogue) {
  if (code.members.size() < 2) return "a fusion of fewer than two members";
  if (code.layout.empty()) return "a fusion without a layout";
  std::string returns = "Tensor";
  if (code.same_input) {
    returns = "Tuple[Tensor";
    for (size_t i = 1; i < code.members.size(); ++i) returns += ", Tensor";
    returns += "]";
  }
  if (!SameType(signature.returns, returns)) return "its `forward` does not return " + returns;
  std::vector<SourceSignature> forms;
  for (const FusedMember& member : code.members) {
    const Layer* layer = catalogue.FindLayer(member.layer);
    if (!layer || layer->function) return "no layer is called `" + member.layer + "`";
    for (const std::string& name : member.references) {
      const Reference* form = FindForm(*layer, name);
      if (!form) return NoForm(*layer, name);
      if (auto wanted = ReadForwardSignature(form->source)) forms.push_back(std::move(*wanted));
    }
  }
  for (const SourceParameter& parameter : signature.parameters) {
    const bool known = std::any_of(forms.begin(), forms.end(), [&](const SourceSignature& form) {
      const SourceParameter* same = FindParameter(form, parameter.name);
      return same && SameType(same->type, parameter.type);
    });
    if (IsMade(code, parameter) || (known && !parameter.otherwise)) continue;
    return "`" + parameter.name + "` is neither made by its layout nor a parameter of a member";
  }
  return "";
}

// Stock code takes what the kernel's code takes.
std::string StockProblem(const Implementation& code, const SourceSignature& signature) {
  if (code.stock.empty()) return "";
  if (code.layout.empty()) return "only a kernel with a layout has stock code of its own";
  if (const std::string what = CodeProblem(code.stock); !what.empty()) {
    return "its stock code has " + what;
  }
  const auto stock = ReadForwardSignature(code.stock);
  if (stock && Fits(*stock, signature)) return "";
  return "its stock code has not the parameters and results of its `forward`";
}

std::string ImplementationProblem(const Implementation& code, const Catalogue& catalogue) {
  const Layer* layer = code.members.empty() ? catalogue.FindLayer(code.layer) : nullptr;
  if (!layer && code.members.empty()) return "no layer is called `" + code.layer + "`";
  if (const std::string what = CodeProblem(code.source); !what.empty()) {
    return "its code has " + what;
  }
  const auto signature = ReadForwardSignature(code.source);
  if (!signature) return "its code has no `forward`";
  if (std::string problem = StockProblem(code, *signature); !problem.empty()) return problem;
  if (!layer) return FusionProblem(code, *signature, catalogue);
  if (layer->function && !code.layout.empty()) {
    return layer->name + " is a function, which has no parameters of its own";
  }
  for (const std::string& name : code.references) {
    const Reference* form = FindForm(*layer, name);
    if (!form) return NoForm(*layer, name);
    if (!code.layout.empty()) {
      std::string problem = LayoutProblem(code, *signature, *layer, *form);
      if (!problem.empty()) return problem;
      continue;
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

std::optional<Reason> ReadOwnBinding(const std::string& text, std::string_view repo,
                                     const Catalogue& catalogue, std::optional<Binding>* binding) {
  Diagnostics diagnostics(std::make_shared<Source>("kernelmap.toml", text));
  *binding = ReadBinding(&diagnostics);
  if (*binding) {
    const std::string problem = BindingProblem(**binding, repo, catalogue);
    if (problem.empty()) return std::nullopt;
    return Reason{"bad_metadata", "kernelmap.toml: " + problem, ""};
  }
  const Diagnostic& first = diagnostics.list().front();
  const LineColumn at = first.source->Locate(first.span.begin);
  return Reason{"bad_metadata",
                "kernelmap.toml:" + std::to_string(at.line) + ":" + std::to_string(at.column) +
                    ": " + first.message,
                ""};
}

}  // namespace kernelmap
