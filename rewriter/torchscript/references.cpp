#include "rewriter/torchscript/references.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "rewriter/kernel_fit.h"
#include "rewriter/modules/adapters.h"

namespace kernelmap::torchscript {
namespace {

// CompileSource, once a process for each source: a program may rewrite many models. Nothing changes
// what was compiled; edits copy it.
const CompiledSource& CompileOnce(const std::string& source) {
  static std::mutex compiling;
  static auto* compiled = new std::map<std::string, CompiledSource>;
  const std::lock_guard<std::mutex> lock(compiling);
  const auto found = compiled->find(source);
  if (found != compiled->end()) return found->second;
  return compiled->emplace(source, CompileSource(source)).first->second;
}

class Compiler {
 public:
  explicit Compiler(CompiledReferences* out) : out_(out) {}

  void AddLayer(const Layer& layer) {
    if (!added_.insert(layer.name).second) return;
    for (const Reference& reference : layer.references) {
      torch::jit::Function* forward = Compile(reference.source);
      out_->stock[{layer.name, reference.name}] = forward;
      Add(layer, reference.name, *forward, nullptr);
    }
  }

  void AddKernel(const Layer& layer, const Kernel& kernel) {
    for (const Implementation& implementation : kernel.implementations) {
      if (implementation.layer != layer.name) continue;
      if (implementation.adapter) DeclareAdapter(*implementation.adapter);
      torch::jit::Function* forward = Compile(implementation.source);
      out_->implementations[&implementation] = forward;
      Add(layer, kernel.name, *forward, &implementation);
      AddProblem(implementation);
    }
  }

  // A fused kernel, and the layers of its members.
  void AddFusion(const Catalogue& catalogue, const Kernel& kernel) {
    for (const Implementation& implementation : kernel.implementations) {
      if (implementation.members.empty() || out_->implementations.contains(&implementation)) {
        continue;
      }
      Layer fused;
      fused.name = implementation.layer;
      for (const FusedMember& member : implementation.members) {
        const Layer* layer = catalogue.FindLayer(member.layer);
        if (!layer) continue;
        AddLayer(*layer);
        fused.input.insert(fused.input.end(), layer->input.begin(), layer->input.end());
      }
      std::erase_if(fused.input,
                    [&](const std::string& name) { return implementation.layout.contains(name); });
      if (implementation.adapter) DeclareAdapter(*implementation.adapter);
      torch::jit::Function* forward = Compile(implementation.source);
      out_->implementations[&implementation] = forward;
      Add(fused, kernel.name, *forward, &implementation);
      AddProblem(implementation);
    }
  }

 private:
  void AddProblem(const Implementation& implementation) {
    if (!implementation.adapter) return;
    out_->references.back().problem = KernelSourceProblem(implementation.adapter->forward);
  }

  torch::jit::Function* Compile(const std::string& source) {
    out_->sources.push_back(CompileOnce(source));
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
    c.across_calls = layer.across_calls;
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
  std::set<std::string> added_;
};

}  // namespace

void CompileImplementation(const Implementation& implementation, CompiledReferences* out) {
  if (implementation.adapter) DeclareAdapter(*implementation.adapter);
  out->sources.push_back(CompileOnce(implementation.source));
  out->implementations[&implementation] = out->sources.back().forward;
}

void CompileReferences(const Plan& plan, const Catalogue& catalogue, CompiledReferences* out) {
  Compiler compiler(out);
  for (const PlanEntry& entry : plan.entries) {
    const Layer* layer = catalogue.FindLayer(entry.name);
    const Kernel* kernel = KernelOf(entry, catalogue);
    if (!entry.modules.empty() && kernel) compiler.AddFusion(catalogue, *kernel);
    if (!layer) continue;
    compiler.AddLayer(*layer);
    if (kernel) compiler.AddKernel(*layer, *kernel);
  }
}

}  // namespace kernelmap::torchscript
