// Training in C++: the loss of a kernelized model follows the stock one's. Tolerances:
// docs/training.md.
#include <gtest/gtest.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/script.h>
#include <torch/torch.h>

#include <cmath>
#include <memory>

#include "rewriter/modules/kernelize.h"
#include "tests/inprocess/models.h"

namespace kernelmap {
namespace {

constexpr int kSteps = 50;

using Optimizer = std::unique_ptr<torch::optim::Optimizer>;

Optimizer MakeOptimizer(const std::string& name, const torch::jit::Module& module) {
  std::vector<at::Tensor> parameters;
  for (const at::Tensor& p : module.parameters()) parameters.push_back(p);
  if (name == "AdamW") {
    return std::make_unique<torch::optim::AdamW>(parameters, torch::optim::AdamWOptions(3e-3));
  }
  return std::make_unique<torch::optim::SGD>(parameters,
                                             torch::optim::SGDOptions(0.05).momentum(0.9));
}

// Each row follows from its first word.
at::Tensor Batch(int step) {
  const at::Tensor first = at::remainder(at::arange(4).add_(4 * step) * 37, 99).unsqueeze(1) + 1;
  return at::cat({first, at::remainder(first * 7 + at::arange(1, 16), 99) + 1}, 1);
}

std::vector<double> Train(torch::jit::Module module, const std::string& name) {
  // TorchScript's own differentiation fails on stock bf16 archives.
  const torch::jit::GraphOptimizerEnabledGuard plain(false);
  module.train();
  const Optimizer optimizer = MakeOptimizer(name, module);
  std::vector<double> losses;
  for (int step = 0; step < kSteps; ++step) {
    const at::Tensor ids = Batch(step);
    optimizer->zero_grad();
    const at::Tensor out = Forward(module, ids).slice(1, 0, -1).flatten(0, 1).to(at::kFloat);
    const at::Tensor loss = at::cross_entropy_loss(out, ids.slice(1, 1).flatten());
    loss.backward();
    optimizer->step();
    losses.push_back(loss.item<double>());
  }
  return losses;
}

void Follows(const std::string& model, const Plan& plan, double tolerance) {
  for (const char* optimizer : {"AdamW", "SGD"}) {
    SCOPED_TRACE(model + " " + optimizer);
    const std::vector<double> stock = Train(torch::jit::load(ModelPath(model)), optimizer);
    torch::jit::Module module = torch::jit::load(ModelPath(model));
    const Kernelized kernels = kernelize(module, plan);
    for (const Site& site : kernels.report().sites) EXPECT_NE(site.action, Action::kFallback);
    const std::vector<double> ours = Train(module, optimizer);
    EXPECT_LT(stock.back(), 0.9 * stock.front());
    for (int i = 0; i < kSteps; ++i) {
      ASSERT_LE(std::abs(ours[i] - stock[i]), tolerance * stock[i]) << "step " << i;
    }
    // What was trained is in the stock model too.
    if (!kernels.made_parameters().empty()) continue;
    const at::NoGradGuard no_grad;
    const at::Tensor trained = Forward(module, Ids());
    kernels.undo(module);
    const double size = trained.abs().max().item<double>();
    EXPECT_LE((Forward(module, Ids()) - trained).abs().max().item<double>(), 3 * tolerance * size);
  }
}

TEST(Training, Float32) { Follows("llama", PlanOf("", "training"), 1e-5); }

TEST(Training, BFloat16) { Follows("llama.bf16", PlanOf("", "training"), 0.02); }

TEST(Training, Fusions) {
  const Plan plan = PlanOf(R"(
[model]
root = "model.model"
[[fusion]]
modules = [["Linear", "layers.*.self_attn.q_proj"], ["Linear", "layers.*.self_attn.k_proj"],
           ["Linear", "layers.*.self_attn.v_proj"]]
kernel = "builtin:qkv_proj"
)",
                           "training");
  Follows("llama", plan, 1e-5);
}

}  // namespace
}  // namespace kernelmap
