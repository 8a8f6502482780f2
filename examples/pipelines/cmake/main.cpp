// Runs a rewritten language model on a few tokens: app MODEL.pt
#include <torch/script.h>

#include <iostream>

#include "rewriter/modules/load.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  torch::jit::Module model = kernelmap::load(argv[1]);
  model.eval();
  const torch::NoGradGuard no_grad;
  const at::Tensor ids = torch::arange(16, torch::kInt64).view({2, 8});
  std::cout << model.forward({ids}).toTensor().sizes() << "\n";
}
