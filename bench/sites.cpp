// How long the rewriter takes in memory: matching and rewriting, without load and save.
//
//   bench_sites [--runs N] MODEL.pt…     a line each: sites that were replaced, milliseconds (median)
//
// The default mapping on the CPU. Each run loads the model anew, since a module is rewritten once.
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/script.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "rewriter/rewrite.h"

namespace {

using Clock = std::chrono::steady_clock;

double Rewrite(const kernelmap::Plan& plan, const std::string& path, std::size_t* replaced) {
  torch::jit::Module module = torch::jit::load(path, c10::kCPU);
  // The last parts of loading, which libtorch puts off: compiling each method's code to its graph,
  // and reading where in the model's own files each operation comes from.
  for (const torch::jit::Module& each : module.modules()) {
    for (const torch::jit::Method& method : each.get_methods()) {
      const auto graph = torch::jit::toGraphFunction(method.function()).graph();
      for (const torch::jit::Node* node : graph->nodes()) {
        node->sourceRange().findSourceRangeThatGenerated();
      }
    }
  }
  const auto start = Clock::now();
  const kernelmap::SiteDecisions decisions = kernelmap::RewriteModule(module, plan, {});
  const std::chrono::duration<double, std::milli> took = Clock::now() - start;
  *replaced = 0;
  for (const kernelmap::Site& site : decisions.sites) {
    *replaced += site.action == kernelmap::Action::kReplaced;
  }
  return took.count();
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> models(argv + 1, argv + argc);
  int runs = 5;
  if (models.size() > 1 && models[0] == "--runs") {
    runs = std::max(1, std::atoi(models[1].c_str()));
    models.erase(models.begin(), models.begin() + 2);
  }
  const kernelmap::Compiled compiled = kernelmap::CompilePlan(std::nullopt, {.device = "cpu"});
  if (!compiled.plan) return 1;
  for (const std::string& model : models) {
    std::vector<double> times;
    std::size_t replaced = 0;
    Rewrite(*compiled.plan, model, &replaced);  // compiles the references, once a process
    for (int i = 0; i < runs; ++i) times.push_back(Rewrite(*compiled.plan, model, &replaced));
    std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
    std::printf("%zu\t%.1f\n", replaced, times[runs / 2]);
    std::fflush(stdout);
  }
}
