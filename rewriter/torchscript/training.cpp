#include "rewriter/torchscript/training.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "rewriter/torchscript/compile.h"

namespace kernelmap::torchscript {
namespace {

using torch::jit::Graph;
using torch::jit::Value;

void AddCheck(const std::string& class_name, const ModeFlag& mode, Graph& graph) {
  torch::jit::WithInsertPoint point(*graph.nodes().begin());
  Value* flag = graph.inputs()[0];
  for (const std::string& name : mode.path) flag = graph.insertGetAttr(flag, name);
  const std::string why =
      mode.value ? "it was rewritten as it is after train(): call eval() before it is rewritten"
                 : "it was rewritten for inference, and would lose dropout or a detach in "
                   "training: rewrite the model with --mode training";
  const CompiledSource check = CompileSource(
      "def forward(training: bool) -> None:\n    if training != " +
      std::string(mode.value ? "True" : "False") +
      ":\n        raise RuntimeError(\"kernelmap: " + class_name + ": " + why + "\")\n");
  const auto code = torch::jit::toGraphFunction(*check.forward).graph()->copy();
  torch::jit::insertGraph(graph, *code, {flag});
}

}  // namespace

void AssertNotTraining(const SiteDecisions& decisions, const Imported& imported) {
  std::map<int, std::set<ModeFlag>> flags;
  for (const SiteEdit& edit : decisions.edits) {
    flags[edit.edit.graph].insert(edit.modes.begin(), edit.modes.end());
  }
  for (const FusionEdit& fusion : decisions.fusions) {
    const SiteEdit& edit = fusion.fused;
    flags[edit.edit.graph].insert(edit.modes.begin(), edit.modes.end());
  }
  for (const auto& [index, modes] : flags) {
    Graph& graph = *imported.graphs[index].graph;
    for (const ModeFlag& mode : modes) {
      const auto type = graph.inputs()[0]->type()->expect<c10::ClassType>();
      AddCheck(ClassName(*type), mode, graph);
    }
  }
}

}  // namespace kernelmap::torchscript
