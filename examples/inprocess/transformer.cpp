// A small transformer in C++, trained for some steps stock and with kernels: prints what was
// replaced, the losses of both, and how far their outputs are apart.
//
//   transformer [CONFIG] [STEPS]
#include <torch/torch.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "rewriter/modules/kernelize_tree.h"
#include "rewriter/modules/layer.h"

namespace example {

constexpr int64_t kWidth = 64, kHeads = 4, kInner = 128, kWords = 100;

// Llama's norm. The class says what it is: a kernel may stand for its forward.
struct RMSNormImpl : torch::nn::Module, kernelmap::KernelLayer {
  RMSNormImpl() : KernelLayer("RMSNorm", "llama") {
    weight = register_parameter("weight", torch::ones({kWidth}));
  }
  at::Tensor forward(const at::Tensor& x) {
    KM_KERNEL_FORWARD(x, weight, eps);
    const at::Tensor wide = x.to(torch::kFloat);
    const at::Tensor mean = (wide * wide).mean(-1, /*keepdim=*/true);
    return weight * (wide * torch::rsqrt(mean + eps)).to(x.scalar_type());
  }
  at::Tensor weight;
  double eps = 1e-6;
};
TORCH_MODULE(RMSNorm);

torch::nn::Linear Linear(int64_t in, int64_t out) {
  return torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(false));
}

// A gated MLP as a whole: the kernel gets its children's weights.
struct GatedMLPImpl : torch::nn::Module, kernelmap::KernelLayer {
  GatedMLPImpl() : KernelLayer("SwiGLUMLP", "split") {
    gate = register_module("gate", Linear(kWidth, kInner));
    up = register_module("up", Linear(kWidth, kInner));
    down = register_module("down", Linear(kInner, kWidth));
  }
  at::Tensor forward(const at::Tensor& x) {
    KM_KERNEL_FORWARD(x, gate->weight, up->weight, down->weight);
    return down(torch::silu(gate(x)) * up(x));
  }
  torch::nn::Linear gate{nullptr}, up{nullptr}, down{nullptr};
};
TORCH_MODULE(GatedMLP);

struct BlockImpl : torch::nn::Module {
  BlockImpl() {
    norm = register_module("norm", RMSNorm());
    qkv = register_module("qkv", Linear(kWidth, 3 * kWidth));
    out = register_module("out", Linear(kWidth, kWidth));
    mlp_norm = register_module("mlp_norm", RMSNorm());
    mlp = register_module("mlp", GatedMLP());
  }
  at::Tensor forward(const at::Tensor& x) {
    const auto parts = qkv(norm(x)).view({x.size(0), x.size(1), 3, kHeads, -1}).unbind(2);
    const at::Tensor attended = at::scaled_dot_product_attention(
        parts[0].transpose(1, 2), parts[1].transpose(1, 2), parts[2].transpose(1, 2),
        /*attn_mask=*/{}, /*dropout_p=*/0.0, /*is_causal=*/true);
    const at::Tensor y = x + out(attended.transpose(1, 2).reshape(x.sizes()));
    return y + mlp(mlp_norm(y));
  }
  RMSNorm norm{nullptr}, mlp_norm{nullptr};
  torch::nn::Linear qkv{nullptr}, out{nullptr};
  GatedMLP mlp{nullptr};
};
TORCH_MODULE(Block);

struct TransformerImpl : torch::nn::Module {
  TransformerImpl() {
    embed = register_module("embed", torch::nn::Embedding(kWords, kWidth));
    for (int i = 0; i < 2; ++i)
      blocks.push_back(register_module("block" + std::to_string(i), Block()));
    // Activations of libtorch are replaced in a Sequential without a word of ours.
    head = register_module(
        "head", torch::nn::Sequential(RMSNorm(), torch::nn::Linear(kWidth, kWidth),
                                      torch::nn::GELU(torch::nn::GELUOptions().approximate("tanh")),
                                      torch::nn::Linear(kWidth, kWords)));
  }
  at::Tensor forward(const at::Tensor& ids) {
    at::Tensor x = embed(ids);
    for (Block& block : blocks) x = block(x);
    return head->forward(x);
  }
  torch::nn::Embedding embed{nullptr};
  std::vector<Block> blocks;
  torch::nn::Sequential head{nullptr};
};
TORCH_MODULE(Transformer);

at::Tensor Batch(int64_t step) {
  const at::Tensor first = (torch::arange(4) + 4 * step).mul(37).remainder(99).unsqueeze(1) + 1;
  return torch::cat({first, (first * 7 + torch::arange(1, 16)).remainder(99) + 1}, 1);
}

std::vector<double> Train(Transformer& model, int steps) {
  torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions(3e-3));
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    const at::Tensor ids = Batch(step);
    optimizer.zero_grad();
    const at::Tensor out = model(ids).slice(1, 0, -1).flatten(0, 1);
    const at::Tensor loss = torch::nn::functional::cross_entropy(out, ids.slice(1, 1).flatten());
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<double>());
  }
  return losses;
}

int Main(int argc, char** argv) {
  const std::string config = argc > 1 ? argv[1] : "examples/inprocess/config.toml";
  const int steps = argc > 2 ? std::atoi(argv[2]) : 50;
  const kernelmap::Compiled compiled = kernelmap::CompilePlan(config, {});
  if (!compiled.plan) {
    const std::string text = compiled.error.empty()
                                 ? kernelmap::DiagnosticsToText(compiled.diagnostics, false)
                                 : compiled.error;
    std::fprintf(stderr, "%s\n", text.c_str());
    return compiled.exit_code;
  }
  torch::manual_seed(0);
  Transformer stock;
  torch::manual_seed(0);
  Transformer model;
  kernelmap::KernelizedTree kernels =
      kernelmap::kernelize(*model, *compiled.plan, {.name = "transformer"});
  std::fputs(kernelmap::ReportToText(kernels.report()).c_str(), stdout);

  const auto difference = [&](const char* when) {
    const at::NoGradGuard no_grad;
    const at::Tensor a = model(Batch(1000)), b = stock(Batch(1000));
    std::printf("%s: outputs differ by at most %.1e of %.1f\n", when,
                (a - b).abs().max().item<double>(), b.abs().max().item<double>());
  };
  difference("before training");
  const std::vector<double> ours = Train(model, steps), theirs = Train(stock, steps);
  double worst = 0;
  for (int i = 0; i < steps; ++i) worst = std::fmax(worst, std::fabs(ours[i] / theirs[i] - 1));
  std::printf("loss %.3f -> %.3f, stock %.3f -> %.3f, at most %.1e apart\n", ours.front(),
              ours.back(), theirs.front(), theirs.back(), worst);
  difference("after training");

  const at::NoGradGuard no_grad;
  const at::Tensor with_kernels = model(Batch(0));
  kernels.undo();
  std::printf("undone: the trained stock code differs from the kernels by at most %.1e\n",
              (model(Batch(0)) - with_kernels).abs().max().item<double>());
  return worst < 1e-3 ? 0 : 1;
}

}  // namespace example

int main(int argc, char** argv) { return example::Main(argc, argv); }
