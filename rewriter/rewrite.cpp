#include "rewriter/rewrite.h"

#include "rewriter/torchscript/edit.h"
#include "rewriter/torchscript/import.h"
#include "rewriter/torchscript/references.h"

namespace kernelmap {
namespace {

std::vector<expr::DType> InputDTypes(const Plan& plan) {
  std::vector<expr::DType> dtypes;
  for (const std::string& name : plan.model_inputs) {
    dtypes.push_back(expr::DTypeFromName(name).value_or(expr::kUnknownDType));
  }
  return dtypes;
}

}  // namespace

SiteDecisions RewriteModule(torch::jit::Module& module, const Plan& plan,
                            const SiteOptions& options, bool decide_only,
                            const Catalogue& catalogue) {
  torchscript::Imported imported = torchscript::ImportModule(module);
  expr::Execution execution = expr::Execute(imported.program, InputDTypes(plan));
  SiteOptions with_compiler = options;
  with_compiler.source_problem = torchscript::KernelSourceProblem;
  torchscript::CompiledReferences references;
  torchscript::CompileReferences(plan, catalogue, &references);
  SiteDecisions decisions = DecideSites(plan, catalogue, imported.program, execution,
                                        references.references, with_compiler);
  if (decide_only || decisions.edits.empty()) return decisions;
  for (const SiteEdit& edit : decisions.edits) {
    if (edit.made) torchscript::CompileImplementation(*edit.made, &references);
  }
  torchscript::ApplyEdits(decisions.edits, execution, references, imported, options.self_mode);
  if (!plan.model_inputs.empty()) {
    const int forward = imported.program.objects[imported.program.root].methods.at("forward");
    torchscript::AssertInputDTypes(plan.model_inputs, *imported.graphs[forward].graph);
  }
  return decisions;
}

}  // namespace kernelmap
