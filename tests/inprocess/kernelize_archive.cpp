// kernelize_archive CONFIG MODEL [no-trust]: kernelizes the archive's module by a config, kernels
// of the Hub too. Prints the report as JSON, then a line: how far outputs are from the stock
// module's, and whether undo gives those back bit for bit. Exit code 1: kernelize threw, and the
// module is unchanged. `no-trust`: no publisher may be loaded. For tests/hub/.
#include <torch/script.h>

#include <cstdio>

#include "compiler/compile.h"
#include "rewriter/modules/kernelize.h"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const kernelmap::Compiled config = kernelmap::CompilePlan(std::string(argv[1]), {});
  if (!config.plan) return config.exit_code;
  const at::NoGradGuard no_grad;
  torch::jit::Module module = torch::jit::load(argv[2]);
  const at::Tensor ids = at::arange(16).view({2, 8});
  const at::Tensor stock = module.forward({ids}).toTensor();
  kernelmap::KernelizeOptions options;
  if (argc > 3) options.kernels.emplace().trusted_publishers.clear();
  try {
    const kernelmap::Kernelized kernels = kernelmap::kernelize(module, *config.plan, options);
    const at::Tensor found = module.forward({ids}).toTensor();
    std::fputs(kernelmap::ReportToJson(kernels.report()).c_str(), stdout);
    kernels.undo(module);
    std::printf("%g %d\n", (found - stock).abs().max().item<double>(),
                at::equal(module.forward({ids}).toTensor(), stock));
  } catch (const c10::Error& error) {
    std::fprintf(stderr, "%s\n", error.what_without_backtrace());
    return at::equal(module.forward({ids}).toTensor(), stock) ? 1 : 3;
  }
}
