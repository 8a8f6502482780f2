// kernelize on TorchScript modules: what apply does to archives, and the way back.
#include <gtest/gtest.h>
#include <torch/script.h>

#include <atomic>
#include <sstream>
#include <thread>

#include "rewriter/apply.h"
#include "rewriter/modules/kernelize.h"
#include "tests/inprocess/models.h"

namespace kernelmap {
namespace {

constexpr const char* kFusions = R"(
[model]
root = "ROOT"
[[fusion]]
modules = [["RMSNorm", "layers.*.post_attention_layernorm"], ["MLP", "layers.*.mlp"]]
kernel = "builtin:rms_norm_swiglu_mlp"
[[fusion]]
modules = [["Linear", "layers.*.self_attn.q_proj"], ["Linear", "layers.*.self_attn.k_proj"],
           ["Linear", "layers.*.self_attn.v_proj"]]
kernel = "builtin:qkv_proj"
)";

Plan FusionPlan(const std::string& root, const std::string& mode = "inference") {
  std::string text = kFusions;
  return PlanOf(text.replace(text.find("ROOT"), 4, root), mode);
}

std::string Sites(Report report) {
  report.model_file = report.model_sha256 = "";
  return ReportToJson(report);
}

torch::jit::Module Load(const std::string& bytes) {
  std::istringstream in(bytes);
  return torch::jit::load(in);
}

// Names and places of all parameters, buffers and modules.
std::string Describe(const torch::jit::Module& module) {
  std::ostringstream out;
  for (const auto& p : module.named_parameters()) {
    out << p.name << " " << p.value.unsafeGetTensorImpl() << " " << p.value.requires_grad() << "\n";
  }
  for (const auto& b : module.named_buffers()) {
    out << b.name << " " << b.value.unsafeGetTensorImpl() << "\n";
  }
  for (const auto& m : module.named_modules()) {
    out << m.name << " " << m.value._ivalue().get() << " " << m.value.is_training() << "\n";
  }
  return out.str();
}

class Archives : public ::testing::TestWithParam<const char*> {};

TEST_P(Archives, AsApplyDoes) {
  const at::NoGradGuard no_grad;
  const std::string path = ModelPath(GetParam());
  const std::string root =
      std::string(GetParam()).find('/') == std::string::npos ? "model.model" : "";
  for (const Plan& plan : {PlanOf(""), PlanOf("", "training"), FusionPlan(root),
                           PlanOf("[kernel_mapping]\nadd_rms_norm = \"builtin:add_rms_norm\"\n")}) {
    const ApplyResult applied = Apply(plan, path, {});
    ASSERT_TRUE(applied.applied.has_value());
    torch::jit::Module module = torch::jit::load(path);
    const std::string before = Describe(module);
    const at::Tensor stock = Forward(module, Ids());  // it may have run, and more than once
    EXPECT_TRUE(at::equal(Forward(module, Ids()), stock));
    const Kernelized kernels = kernelize(module, plan);
    EXPECT_EQ(Sites(kernels.report()), Sites(applied.applied->report));
    EXPECT_FALSE(kernels.already_applied());
    torch::jit::Module archive = Load(applied.applied->archive);
    for (int seed = 0; seed < 3; ++seed) {
      const at::Tensor ids = Ids(seed, {seed + 1, 5 + 7 * seed});
      EXPECT_TRUE(at::equal(Forward(module, ids), Forward(archive, ids)));
    }
    // Saved, it is such an archive.
    std::ostringstream bytes;
    module.save(bytes);
    EXPECT_TRUE(at::equal(Forward(Load(bytes.str()), Ids()), Forward(archive, Ids())));
    kernels.undo(module);
    EXPECT_EQ(Describe(module), before);
    EXPECT_TRUE(at::equal(Forward(module, Ids()), stock));
    kernels.undo(module);  // once more changes nothing
    EXPECT_EQ(Describe(module), before);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Archives,
                         ::testing::Values("llama", "llama.bf16", "gemma", "qwen3",
                                           "handmade/own_classes.scripted",
                                           "handmade/shared_class.scripted",
                                           "handmade/shared_class.bf16.traced",
                                           "handmade/written_llama.scripted"));

TEST(Kernelize, SharesParameters) {
  torch::jit::Module module = torch::jit::load(ModelPath("llama"));
  const torch::jit::Module stock = module;
  const Kernelized kernels = kernelize(module, PlanOf("", "training"));
  EXPECT_TRUE(kernels.made_parameters().empty());
  const auto a = stock.named_parameters(), b = module.named_parameters();
  ASSERT_EQ(a.size(), b.size());
  auto other = b.begin();
  for (const auto& p : a) {
    EXPECT_EQ(p.name, (*other).name);
    EXPECT_TRUE(p.value.is_same((*other).value));
    ++other;
  }
  // Training through one is training of both.
  const at::Tensor before = Forward(stock, Ids()).detach();
  Forward(module, Ids()).square().mean().backward();
  {
    const at::NoGradGuard no_grad;
    for (at::Tensor p : module.parameters()) {
      if (p.grad().defined()) p.sub_(p.grad());
    }
  }
  const at::Tensor rewritten = Forward(module, Ids()).detach();
  EXPECT_FALSE(at::allclose(rewritten, before));
  kernels.undo(module);
  EXPECT_TRUE(at::allclose(Forward(module, Ids()), rewritten, 1e-4, 1e-5));
}

TEST(Kernelize, SaysWhichParametersAreNew) {
  torch::jit::Module module = torch::jit::load(ModelPath("llama"));
  const Kernelized kernels = kernelize(module, FusionPlan("model.model", "training"));
  const std::vector<std::string> made = kernels.made_parameters();
  ASSERT_EQ(made.size(), 4u);  // gate and up as one, query, key and value as one, in two layers
  EXPECT_EQ(std::count(made.begin(), made.end(),
                       "model.model.layers.0.post_attention_layernorm.gate_up_weight"),
            1);
  EXPECT_EQ(
      std::count(made.begin(), made.end(), "model.model.layers.1.self_attn.q_proj.qkv_weight"), 1);
}

TEST(Kernelize, ModeOfTrainAndEval) {
  torch::jit::Module module = torch::jit::load(ModelPath("handmade/own_classes.scripted"));
  module.eval();
  const Kernelized kernels = kernelize(module, PlanOf("", "training"));
  EXPECT_FALSE(module.is_training());
  module.train();
  EXPECT_TRUE(module.is_training());
  kernels.undo(module);
  EXPECT_FALSE(module.is_training());
}

TEST(Kernelize, Twice) {
  const at::NoGradGuard no_grad;
  torch::jit::Module module = torch::jit::load(ModelPath("llama"));
  const Kernelized first = kernelize(module, PlanOf(""));
  const std::string before = Describe(module);
  const Kernelized second = kernelize(module, PlanOf(""));
  EXPECT_TRUE(second.already_applied());
  EXPECT_EQ(Describe(module), before);
  for (const Site& site : second.report().sites) EXPECT_EQ(site.action, Action::kAlready);
  EXPECT_EQ(second.report().sites.size(), first.report().sites.size());
  EXPECT_NE(ErrorOf([&] {
              kernelize(module, PlanOf("[kernel_mapping]\nRMSNorm = \"\"\n"));
            }).find("already rewritten by another plan"),
            std::string::npos);
  EXPECT_EQ(Describe(module), before);
  second.undo(module);  // of a call that changed nothing
  EXPECT_EQ(Describe(module), before);
  first.undo(module);
  const Kernelized again = kernelize(module, PlanOf("[kernel_mapping]\nRMSNorm = \"\"\n"));
  EXPECT_FALSE(again.already_applied());
}

TEST(Kernelize, UnchangedWhenItThrows) {
  const at::NoGradGuard no_grad;
  torch::jit::Module module = torch::jit::load(ModelPath("gemma"));
  const at::Tensor stock = Forward(module, Ids());
  const std::string before = Describe(module);
  const Plan plan = PlanOf(
      "inherit_mapping = false\non_fallback = \"error\"\n[kernel_mapping]\n"
      "RMSNorm = \"builtin:rms_norm\"\n");
  const std::string error = ErrorOf([&] { kernelize(module, plan, {.name = "the model"}); });
  EXPECT_NE(error.find("cannot kernelize `the model`: a site is a fallback"), std::string::npos)
      << error;
  EXPECT_NE(error.find("[different_code]"), std::string::npos) << error;
  EXPECT_EQ(Describe(module), before);
  EXPECT_TRUE(at::equal(Forward(module, Ids()), stock));
}

TEST(Kernelize, UndoOfAnother) {
  torch::jit::Module one = torch::jit::load(ModelPath("llama"));
  torch::jit::Module two = torch::jit::load(ModelPath("llama"));
  const Kernelized kernels = kernelize(one, PlanOf(""));
  EXPECT_NE(ErrorOf([&] { kernels.undo(two); }).find("undo of another module"), std::string::npos);
}

TEST(Kernelize, OtherHandlesKeepTheStockCode) {
  const at::NoGradGuard no_grad;
  torch::jit::Module module = torch::jit::load(ModelPath("llama"));
  torch::jit::Module handle = module;
  const at::Tensor stock = Forward(handle, Ids());
  kernelize(module, PlanOf(""));  // the way back is thrown away
  EXPECT_TRUE(at::equal(Forward(handle, Ids()), stock));
  handle = torch::jit::Module();
  EXPECT_TRUE(at::allclose(Forward(module, Ids()), stock, 1e-4, 1e-5));
}

TEST(Kernelize, HooksAndSharedObjects) {
  const at::NoGradGuard no_grad;
  torch::jit::Module inner("Inner"), outer("Outer");
  inner.define("def forward(self, x: Tensor) -> Tensor:\n    return x * 2\n");
  outer.register_module("inner", inner);
  outer.register_module("again", inner);  // one object under two names stays one
  outer.define(
      "def forward(self, x: Tensor) -> Tensor:\n"
      "    return self.inner.forward(x) + self.again.forward(x)\n"
      "def other(self, x: Tensor) -> Tensor:\n    return self.forward(x) + 1\n"
      "def hook(self, input: Tuple[Tensor], output: Tensor) -> Tensor:\n"
      "    return output + self.other(input[0])\n");
  outer.type()->addForwardHook(&outer.get_method("hook").function());
  const torch::jit::Module stock = outer;
  kernelize(outer, PlanOf(""));
  const at::Tensor x = at::ones({3});
  EXPECT_TRUE(at::equal(Forward(outer, x), x * 4));
  EXPECT_TRUE(at::equal(outer.get_method("other")({x}).toTensor(), x * 4 + 1));
  EXPECT_TRUE(at::equal(outer({x}).toTensor(), x * 8 + 1));
  EXPECT_EQ(outer.attr("inner").toObject(), outer.attr("again").toObject());
  EXPECT_NE(outer.attr("inner").toObject(), inner._ivalue());
  EXPECT_NE(outer.type()->getForwardHooks()[0], stock.type()->getForwardHooks()[0]);
}

TEST(Kernelize, Threads) {
  const at::NoGradGuard outer_no_grad;
  torch::jit::Module shared = torch::jit::load(ModelPath("llama"));
  const at::Tensor stock = Forward(shared, Ids());
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  // Some run the stock module, while it is rewritten and back, others models of their own.
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, handle = shared] {
      const at::NoGradGuard no_grad;
      while (!stop) wrong += !at::equal(Forward(handle, Ids()), stock);
    });
  }
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      const at::NoGradGuard no_grad;
      while (!stop) {
        torch::jit::Module own = torch::jit::load(ModelPath("llama"));
        const Kernelized kernels = kernelize(own, FusionPlan("model.model"));
        wrong += !at::allclose(Forward(own, Ids()), stock, 1e-4, 1e-5);
        kernels.undo(own);
        wrong += !at::equal(Forward(own, Ids()), stock);
      }
    });
  }
  for (int i = 0; i < 10; ++i) {
    const Kernelized kernels = kernelize(shared, PlanOf(""));
    std::vector<std::thread> runs;
    for (int j = 0; j < 3; ++j) {
      runs.emplace_back([&] {
        const at::NoGradGuard no_grad;
        wrong += !at::allclose(Forward(shared, Ids()), stock, 1e-4, 1e-5);
      });
    }
    for (std::thread& run : runs) run.join();
    kernels.undo(shared);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace kernelmap
