// kernelmap::load: an archive that calls a built-in op, saved, loaded and run in C++.
#include "rewriter/modules/load.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/ir/irparser.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

namespace kernelmap {
namespace {

std::string TemporaryPath(const char* name) { return ::testing::TempDir() + name; }

// A module whose forward(gate, up) is one call of kernelmap::silu_and_mul.
torch::jit::Module Gated() {
  torch::jit::Module module("Gated");
  auto graph = std::make_shared<torch::jit::Graph>();
  torch::jit::parseIR(
      R"(graph(%self, %gate : Tensor, %up : Tensor):
           %out : Tensor = kernelmap::silu_and_mul(%gate, %up)
           return (%out))",
      graph.get());
  graph->inputs()[0]->setType(module.type());
  auto* forward = module._ivalue()->compilation_unit()->create_function(
      c10::QualifiedName(*module.type()->name(), "forward"), graph);
  module.type()->addMethod(forward);
  return module;
}

TEST(Load, RunsBuiltinOps) {
  const std::string path = TemporaryPath("gated.pt");
  Gated().save(path);
  torch::jit::Module loaded = load(path, c10::Device(c10::kCPU));
  const at::Tensor gate = at::randn({3, 50}), up = at::randn({3, 50});
  const at::Tensor out = loaded.forward({gate, up}).toTensor();
  EXPECT_TRUE(at::allclose(out, at::silu(gate) * up, 1e-5, 1e-6));
  std::remove(path.c_str());
}

std::string LoadError(const std::string& path) {
  try {
    load(path);
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

TEST(Load, ErrorsNameTheFile) {
  EXPECT_NE(LoadError("/no/such/file.pt").find("cannot load `/no/such/file.pt`"),
            std::string::npos);
  const std::string path = TemporaryPath("not_an_archive.pt");
  std::ofstream(path) << "text";
  EXPECT_NE(LoadError(path).find(path), std::string::npos);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace kernelmap
