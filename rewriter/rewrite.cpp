#include "rewriter/rewrite.h"

#include "rewriter/numeric_trial.h"
#include "rewriter/torchscript/edit.h"
#include "rewriter/torchscript/import.h"
#include "rewriter/torchscript/references.h"
#include "rewriter/torchscript/split.h"
#include "rewriter/torchscript/training.h"
#include "rewriter/training_guard.h"

namespace kernelmap {
namespace {

std::vector<expr::DType> InputDTypes(const Plan& plan) {
  std::vector<expr::DType> dtypes;
  for (const std::string& name : plan.model_inputs) {
    dtypes.push_back(expr::DTypeFromName(name).value_or(expr::kUnknownDType));
  }
  return dtypes;
}

Trial TrialOf(NumericTrials& trials) {
  return [&trials](const PlanEntry& entry, const Kernel& kernel, const expr::Frame& frame,
                   const NamedEdit& named) { return trials.Try(entry, kernel, frame, named); };
}

// The modules that need classes of their own before they can be fused.
std::vector<c10::intrusive_ptr<c10::ivalue::Object>> SharedModules(
    const SiteDecisions& decisions, const torchscript::Imported& imported) {
  std::vector<c10::intrusive_ptr<c10::ivalue::Object>> objects;
  for (const FusionEdit& fusion : decisions.fusions) {
    if (!fusion.shared_class) continue;
    for (const int member : fusion.members) objects.push_back(imported.objects[member]);
  }
  return objects;
}

}  // namespace

SiteDecisions RewriteModule(torch::jit::Module& module, const Plan& plan,
                            const SiteOptions& options, bool decide_only,
                            const Catalogue& catalogue) {
  SiteOptions with_compiler = options;
  with_compiler.source_problem = torchscript::KernelSourceProblem;
  torchscript::CompiledReferences references;
  torchscript::CompileReferences(plan, catalogue, &references);
  torchscript::Imported imported;
  expr::Execution execution;
  const bool trains = plan.target.mode.starts_with("training");
  const auto decide = [&] {
    imported = torchscript::ImportModule(module);
    execution = expr::Execute(imported.program, InputDTypes(plan), trains);
    NumericTrials trials(plan, imported, execution.arena, trains);
    const Trial trial = TrialOf(trials);
    with_compiler.trial = &trial;
    return DecideSites(plan, catalogue, imported.program, execution, references.references,
                       with_compiler);
  };
  SiteDecisions decisions = decide();
  if (const auto shared = SharedModules(decisions, imported); !shared.empty()) {
    const torch::jit::Module before = module;
    try {
      module = torchscript::SplitClasses(module, shared);
    } catch (const c10::Error&) {
      module = before;
    }
    // Looked at again: other code of theirs may now be seen to be in the way.
    with_compiler.classes_are_split = true;
    decisions = decide();
  }
  if (decide_only || (decisions.edits.empty() && decisions.fusions.empty())) return decisions;
  for (const SiteEdit& edit : decisions.edits) {
    if (edit.made) torchscript::CompileImplementation(*edit.made, &references);
  }
  if (!trains && !options.self_mode && DependsOnTraining(imported.program)) {
    expr::Execution trained = expr::Execute(imported.program, InputDTypes(plan), true);
    NumericTrials trials(plan, imported, trained.arena, /*trains=*/true);
    const Trial trial = TrialOf(trials);
    SiteOptions in_training = with_compiler;
    in_training.trial = &trial;
    const SiteDecisions for_training =
        DecideSites(plan, catalogue, imported.program, trained, references.references, in_training);
    MarkNotForTraining(imported.program, execution, for_training, &decisions);
  }
  torchscript::ApplyEdits(decisions, execution, references, imported, options.self_mode);
  torchscript::AssertNotTraining(decisions, imported);
  if (!plan.model_inputs.empty()) {
    const int forward = imported.program.objects[imported.program.root].methods.at("forward");
    torchscript::AssertInputDTypes(plan.model_inputs, *imported.graphs[forward].graph);
  }
  return decisions;
}

}  // namespace kernelmap
