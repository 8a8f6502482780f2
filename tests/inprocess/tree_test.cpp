// kernelize on trees of torch::nn modules.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>
#include <thread>

#include "rewriter/modules/kernelize_tree.h"
#include "rewriter/modules/layer.h"
#include "tests/inprocess/models.h"

namespace kernelmap {
namespace {

struct LlamaNormImpl : torch::nn::Module, KernelLayer {
  explicit LlamaNormImpl(int64_t width) : KernelLayer("RMSNorm", "llama") {
    weight = register_parameter("weight", torch::rand({width}) + 0.5);
  }
  at::Tensor forward(const at::Tensor& x) {
    KM_KERNEL_FORWARD(x, weight, eps);
    ++stock_calls;
    const at::Tensor h = x.to(at::kFloat);
    return weight * (h * at::rsqrt(at::mean(h * h, -1, true) + eps)).to(x.scalar_type());
  }
  at::Tensor weight;
  double eps = 1e-6;
  int stock_calls = 0;
};
TORCH_MODULE(LlamaNorm);

// Says nothing of itself.
struct PlainRMSNormImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) { return x; }
};
TORCH_MODULE(PlainRMSNorm);

struct OddNormImpl : torch::nn::Module, KernelLayer {
  OddNormImpl() : KernelLayer("RMSNorm", "of_mars") {}
  at::Tensor forward(const at::Tensor& x) { return x; }
};
TORCH_MODULE(OddNorm);

struct MlpImpl : torch::nn::Module, KernelLayer {
  MlpImpl() : KernelLayer("SwiGLUMLP", "split") {
    const auto linear = [](int64_t in, int64_t out) {
      return torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(false));
    };
    gate = register_module("gate", linear(16, 24));
    up = register_module("up", linear(16, 24));
    down = register_module("down", linear(24, 16));
  }
  at::Tensor forward(const at::Tensor& x) {
    KM_KERNEL_FORWARD(x, gate->weight, up->weight, down->weight);
    return down(at::silu(gate(x)) * up(x));
  }
  torch::nn::Linear gate{nullptr}, up{nullptr}, down{nullptr};
};
TORCH_MODULE(Mlp);

struct NetImpl : torch::nn::Module {
  NetImpl() {
    norm = register_module("norm", LlamaNorm(16));
    mlp = register_module("mlp", Mlp());
    plain = register_module("plain", PlainRMSNorm());
    gelu = register_module("gelu", torch::nn::GELU(torch::nn::GELUOptions().approximate("tanh")));
    head = register_module(
        "head", torch::nn::Sequential(torch::nn::Linear(16, 16),
                                      torch::nn::GELU(torch::nn::GELUOptions().approximate("tanh")),
                                      LlamaNorm(16)));
  }
  at::Tensor forward(const at::Tensor& x) { return head->forward(gelu(plain(x + mlp(norm(x))))); }
  LlamaNorm norm{nullptr};
  Mlp mlp{nullptr};
  PlainRMSNorm plain{nullptr};
  torch::nn::GELU gelu{nullptr};
  torch::nn::Sequential head{nullptr};
};
TORCH_MODULE(Net);

constexpr const char* kConfig = "[kernel_mapping]\nGeluTanh = \"builtin:new_gelu\"\n";

std::string Summary(const Report& report) {
  std::string text;
  for (const Site& site : report.sites) {
    text += site.path + " " + site.class_name + " " + site.name + " " +
            std::string(ActionName(site.action)) +
            (site.reason ? " [" + site.reason->code + "]" : "") + "\n";
  }
  return text;
}

double Distance(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>() / b.abs().max().item<double>();
}

TEST(Tree, SitesAndReasons) {
  Net net;
  KernelizedTree kernels = kernelize(*net, PlanOf(kConfig), {.name = "net"});
  EXPECT_EQ(Summary(kernels.report()),
            "norm LlamaNorm RMSNorm replaced\n"
            "mlp Mlp SwiGLUMLP replaced\n"
            "plain PlainRMSNorm RMSNorm fallback [no_opt_in]\n"
            "gelu GELU GeluTanh fallback [not_replaceable]\n"
            "head.1 GELU GeluTanh replaced\n"
            "head.2 LlamaNorm RMSNorm replaced\n");
  EXPECT_EQ(kernels.report().model_file, "net");
  EXPECT_EQ(kernels.report().sites[0].proof, "name");
  EXPECT_EQ(net->norm->kernel_ref(), "builtin:rms_norm");
}

TEST(Tree, RunsTrainsAndComesBack) {
  torch::manual_seed(0);
  Net net;
  const at::Tensor x = torch::randn({2, 5, 16});
  const at::Tensor stock = net(x);
  const auto stock_gelu = net->head->ptr<torch::nn::GELUImpl>(1);
  const auto names = [&] { return net->named_parameters().keys(); };
  const std::vector<std::string> before = names();
  std::vector<at::Tensor> stock_grads =
      torch::autograd::grad({stock.square().sum()}, net->parameters());
  const int calls = net->norm->stock_calls;
  KernelizedTree kernels = kernelize(*net, PlanOf(kConfig, "training"));
  EXPECT_EQ(names(), before);
  const at::Tensor ours = net(x);
  EXPECT_EQ(net->norm->stock_calls, calls);
  EXPECT_LE(Distance(ours, stock), 1e-5);
  const std::vector<at::Tensor> grads =
      torch::autograd::grad({ours.square().sum()}, net->parameters());
  for (std::size_t i = 0; i < grads.size(); ++i)
    EXPECT_LE(Distance(grads[i], stock_grads[i]), 1e-4);
  EXPECT_FALSE(net->head->ptr(1) == stock_gelu);
  EXPECT_EQ(net->head->named_children()["1"], net->head->ptr(1));
  net->eval();
  EXPECT_FALSE(net->head->ptr(1)->is_training());
  kernels.undo();
  EXPECT_TRUE(at::equal(net(x), stock));
  EXPECT_EQ(net->head->ptr(1), stock_gelu);
  EXPECT_EQ(net->head->named_children()["1"], stock_gelu);
  EXPECT_FALSE(net->norm->has_kernel());
  kernels.undo();
  EXPECT_TRUE(at::equal(net(x), stock));
}

TEST(Tree, SixteenBits) {
  torch::manual_seed(0);
  Net net;
  net->to(at::kBFloat16);
  const at::NoGradGuard no_grad;
  const at::Tensor x = torch::randn({2, 5, 16}).to(at::kBFloat16);
  const at::Tensor stock = net(x);
  const KernelizedTree kernels = kernelize(*net, PlanOf(kConfig));
  const at::Tensor ours = net(x);
  EXPECT_EQ(ours.scalar_type(), at::kBFloat16);
  EXPECT_LE(Distance(ours.to(at::kFloat), stock.to(at::kFloat)), 0.05);
}

TEST(Tree, DtypesAndForms) {
  struct HolderImpl : torch::nn::Module {
    HolderImpl() {
      wide = register_module("wide", LlamaNorm(8));
      wide->to(at::kDouble);
      odd = register_module("odd", OddNorm());
      exact = register_module("exact", torch::nn::Sequential(torch::nn::GELU()));
    }
    LlamaNorm wide{nullptr};
    OddNorm odd{nullptr};
    torch::nn::Sequential exact{nullptr};
  };
  HolderImpl holder;
  const KernelizedTree kernels =
      kernelize(holder, PlanOf("[kernel_mapping]\nGELU = \"builtin:new_gelu\"\n"));
  EXPECT_EQ(Summary(kernels.report()),
            "wide LlamaNorm RMSNorm fallback [dtype]\n"
            "odd OddNorm RMSNorm fallback [other_form]\n"
            "exact.0 GELU GELU fallback [other_form]\n");
}

TEST(Tree, PlansDecide) {
  Net net;
  const KernelizedTree kernels = kernelize(*net, PlanOf(R"(
[kernel_mapping]
SwiGLUMLP = ""
RMSNorm = { kernel = "builtin:rms_norm", except = ["head.*"] }
[[fusion]]
modules = [["LlamaNorm", "norm"], ["Mlp", "mlp"]]
kernel = "builtin:rms_norm_swiglu_mlp"
)"));
  EXPECT_EQ(Summary(kernels.report()),
            " Net LlamaNorm+Mlp fallback [no_graph]\n"
            "norm LlamaNorm RMSNorm replaced\n"
            "mlp Mlp SwiGLUMLP disabled [disabled]\n"
            "plain PlainRMSNorm RMSNorm fallback [no_opt_in]\n"
            "head.2 LlamaNorm RMSNorm excluded [excluded]\n");
}

TEST(Tree, TwiceAndErrors) {
  Net net;
  const at::NoGradGuard no_grad;
  const at::Tensor x = torch::randn({2, 5, 16});
  const at::Tensor stock = net(x);
  const Plan strict = PlanOf(std::string("on_fallback = \"error\"\n") + kConfig);
  EXPECT_NE(ErrorOf([&] { kernelize(*net, strict); }).find("a site is a fallback: `plain`"),
            std::string::npos);
  EXPECT_TRUE(at::equal(net(x), stock));
  KernelizedTree kernels = kernelize(*net, PlanOf(kConfig));
  KernelizedTree again = kernelize(*net, PlanOf(kConfig));
  EXPECT_EQ(again.report().sites[0].action, Action::kAlready);
  again.undo();
  EXPECT_TRUE(net->norm->has_kernel());
  EXPECT_NE(ErrorOf([&] { net->norm->forward(x.to(at::kDouble)); }).find("must be float32"),
            std::string::npos);
  kernels.undo();
  EXPECT_TRUE(at::equal(net(x), stock));
}

TEST(Tree, WrongArguments) {
  struct WrongImpl : torch::nn::Module, KernelLayer {
    WrongImpl() : KernelLayer("RMSNorm", "llama") {}
    at::Tensor forward(const at::Tensor& x) {
      KM_KERNEL_FORWARD(x);
      return x;
    }
  } wrong;
  const KernelizedTree kernels = kernelize(wrong, PlanOf(""));
  EXPECT_NE(ErrorOf([&] {
              wrong.forward(at::ones({2, 4}));
            }).find("missing value for argument"),
            std::string::npos);
}

TEST(Tree, Threads) {
  torch::manual_seed(0);
  Net net;
  const at::NoGradGuard outer;
  const KernelizedTree kernels = kernelize(*net, PlanOf(kConfig));
  const at::Tensor x = torch::randn({2, 5, 16}), expected = net(x);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const at::NoGradGuard no_grad;
      for (int j = 0; j < 50; ++j) wrong += !at::equal(net(x), expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace kernelmap
