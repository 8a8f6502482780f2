#include "rewriter/torchscript/references.h"

#include <algorithm>

namespace kernelmap::torchscript {
namespace {

class Compiler {
 public:
  explicit Compiler(CompiledReferences* out) : out_(out) {}

  void AddLayer(const Layer& layer) {
    for (const Reference& reference : layer.references) {
      torch::jit::Function* forward = Compile(reference.source);
      out_->stock[{layer.name, reference.name}] = forward;
      Add(layer, reference.name, *forward, nullptr);
    }
  }

  void AddKernel(const Layer& layer, const Kernel& kernel) {
    for (const Implementation& implementation : kernel.implementations) {
      if (implementation.layer != layer.name) continue;
      torch::jit::Function* forward = Compile(implementation.source);
      out_->implementations[&implementation] = forward;
      Add(layer, kernel.name, *forward, &implementation);
    }
  }

 private:
  torch::jit::Function* Compile(const std::string& source) {
    out_->sources.push_back(CompileSource(source));
    return out_->sources.back().forward;
  }

  void Add(const Layer& layer, const std::string& name, torch::jit::Function& forward,
           const Implementation* implementation) {
    SiteReference site;
    site.implementation = implementation;
    expr::CompiledReference& c = site.compiled;
    c.layer = layer.name;
    c.name = name;
    c.function = layer.function;
    for (const c10::Argument& argument : forward.getSchema().arguments()) {
      c.parameters.push_back(argument.name());
      c.is_input.push_back(std::find(layer.input.begin(), layer.input.end(), argument.name()) !=
                           layer.input.end());
    }
    c.program = &out_->imported.program;
    c.graph = ImportFunction(forward, out_->imported);
    out_->references.push_back(std::move(site));
  }

  CompiledReferences* out_;
};

}  // namespace

void CompileReferences(const Plan& plan, const Catalogue& catalogue, CompiledReferences* out) {
  Compiler compiler(out);
  for (const PlanEntry& entry : plan.entries) {
    const Layer* layer = catalogue.FindLayer(entry.name);
    if (!layer) continue;
    compiler.AddLayer(*layer);
    const bool built_in = entry.kernel && entry.kernel->trust == "builtin";
    const Kernel* kernel = built_in ? catalogue.FindKernel(entry.kernel->name) : nullptr;
    if (kernel) compiler.AddKernel(*layer, *kernel);
  }
}

}  // namespace kernelmap::torchscript
