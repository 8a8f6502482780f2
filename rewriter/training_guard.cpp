#include "rewriter/training_guard.h"

#include <algorithm>
#include <functional>
#include <set>

#include "rewriter/expr/match.h"

namespace kernelmap {
namespace {

bool AnyNode(const expr::Block& block, const std::function<bool(const expr::Node&)>& test) {
  return std::any_of(block.nodes.begin(), block.nodes.end(), [&](const expr::Node& node) {
    return test(node) || std::any_of(node.blocks.begin(), node.blocks.end(),
                                     [&](const expr::Block& b) { return AnyNode(b, test); });
  });
}

bool ReadsTraining(const expr::Node& node) {
  return node.op == "prim::GetAttr" && node.name == "training";
}

bool SamePlace(const expr::Edit& a, const expr::Edit& b) {
  return a.graph == b.graph && a.replaced == b.replaced;
}

class Marker {
 public:
  Marker(const expr::Program& program, const expr::Execution& execution)
      : program_(program), execution_(execution) {}

  void Mark(SiteEdit* edit) const {
    std::set<ModeFlag> flags;
    for (std::size_t i = 0; i < execution_.frames.size(); ++i) {
      const int owner = SiteAround(static_cast<int>(i), edit->edit.graph);
      const expr::Frame& frame = execution_.frames[i];
      if (owner < 0 || frame.object < 0) continue;
      const bool own = execution_.frames[owner].object == frame.object;
      if (!own && !AnyNode(program_.graphs[frame.graph].body, ReadsTraining)) continue;
      const expr::Constant* training = program_.objects[frame.object].Find("training");
      if (!training || training->kind != expr::Kind::kBool) continue;
      auto path = expr::AttributePath(program_, execution_.frames[owner].object, frame.object);
      if (!path) continue;
      path->push_back("training");
      flags.insert({std::move(*path), training->integer != 0});
    }
    edit->modes.assign(flags.begin(), flags.end());
  }

 private:
  // The frame that runs the graph, and in which frame `i` runs; -1: none does.
  int SiteAround(int i, int graph) const {
    for (; i >= 0; i = execution_.frames[i].parent) {
      if (execution_.frames[i].graph == graph && execution_.frames[i].object >= 0) return i;
    }
    return -1;
  }

  const expr::Program& program_;
  const expr::Execution& execution_;
};

}  // namespace

bool DependsOnTraining(const expr::Program& program) {
  return std::any_of(program.graphs.begin(), program.graphs.end(), [](const expr::Graph& graph) {
    return AnyNode(graph.body, [](const expr::Node& node) {
      return ReadsTraining(node) || node.op == "aten::detach" || node.op == "aten::detach_";
    });
  });
}

void MarkNotForTraining(const expr::Program& program, const expr::Execution& execution,
                        const SiteDecisions& trained, SiteDecisions* decisions) {
  const Marker marker(program, execution);
  for (SiteEdit& edit : decisions->edits) {
    const bool same = std::any_of(trained.edits.begin(), trained.edits.end(),
                                  [&](const SiteEdit& t) { return SamePlace(t.edit, edit.edit); });
    if (!same) marker.Mark(&edit);
  }
  for (FusionEdit& fusion : decisions->fusions) {
    const bool same = std::any_of(
        trained.fusions.begin(), trained.fusions.end(),
        [&](const FusionEdit& t) { return SamePlace(t.fused.edit, fusion.fused.edit); });
    if (!same) marker.Mark(&fusion.fused);
  }
}

}  // namespace kernelmap
