// Bindings: what is known of repositories of the Hub, and what is wrong with a file.
#include "compiler/binding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "compiler/store/layer_source.h"

namespace kernelmap {
namespace {

std::string Wrong(const std::string& text) {
  Diagnostics diagnostics(std::make_shared<Source>("binding.toml", text));
  EXPECT_FALSE(ReadBinding(&diagnostics));
  return diagnostics.list().empty() ? "" : diagnostics.list().front().message;
}

TEST(Binding, WhatOnlyPythonCanRun) {
  const Binding* liger = FindBinding("kernels-community/liger-kernels");
  ASSERT_TRUE(liger);
  EXPECT_TRUE(liger->WhyPythonOnly("LigerRMSNorm").starts_with("Triton code"));
  const Binding* mamba = FindBinding("kernels-community/mamba-ssm");
  ASSERT_TRUE(mamba);
  EXPECT_NE(mamba->WhyPythonOnly("selective_state_update"), "");
  EXPECT_EQ(mamba->WhyPythonOnly("causal_conv1d_fn"), "");
  EXPECT_FALSE(FindBinding("kernels-community/LIGER-kernels"));
  EXPECT_FALSE(FindBinding(""));
}

TEST(Binding, WrongFiles) {
  EXPECT_EQ(Wrong("python_only = []"), "no `repo` in a binding");
  EXPECT_EQ(Wrong("repo = 1"), "`repo` must be a string, not a whole number");
  EXPECT_EQ(Wrong("repo = \"a/b\"\npython_onyl = []"), "unknown key `python_onyl` in a binding");
  EXPECT_EQ(Wrong("repo = \"a/b\"\n[[python_only]]\nnames = [\"X\"]"), "no `why` in `python_only`");
  EXPECT_EQ(Wrong("repo = \"a/b\"\npython_only = [1]"),
            "`python_only` must be a list of tables, not a whole number");
}

TEST(Binding, WhatAKernelSaysOfItself) {
  const auto with = [](const std::string& line) {
    return Wrong("repo = \"a/b\"\n[[kernel]]\nname = \"K\"\n" + line);
  };
  for (const char* number : {"nan", "inf", "-inf", "-1.0", "0.051", "1e6"}) {
    EXPECT_EQ(with("tolerance = { float32 = " + std::string(number) + " }"),
              "`float32` must be a number from 0 to 0.05, not " + std::string(number));
  }
  EXPECT_EQ(with("tolerance = { floot32 = 1e-6 }"), "unknown key `floot32` in `tolerance`");
  EXPECT_EQ(with("devices = [\"cpu\", \"x\"]"), "`x` is not a value of `devices`");
  EXPECT_EQ(with("dtypes = [\"floaty\"]"), "`floaty` is not a value of `dtypes`");
  EXPECT_EQ(with("[[kernel]]\nname = \"K\""), "`K` is there twice in a binding");
  for (const std::string op :
       {"((", "", "norm", "norm(Tensor x)", "norm(Tensor x] -> Tensor", "(Tensor x) -> Tensor",
        "norm(Tensor x)) -> Tensor", "norm(Tensor x) -> "}) {
    EXPECT_EQ(Wrong("repo = \"a/b\"\nops = [\"" + op + "\"]"),
              "`" + op + "` is not a value of `ops`");
  }
}

TEST(Binding, Layouts) {
  Diagnostics diagnostics(std::make_shared<Source>("binding.toml", R"toml(
repo = "org/mlps"
[[kernel]]
name = "MLP"
[[kernel.implements]]
layer = "SwiGLUMLP"
references = ["split"]
layout = { w = "concat(gate_proj.weight, up_weight, dim=0)" }
source = "def forward(x, w, down_weight): return ops.mlp(x, w, down_weight)"
stock = "def forward(x, w, down_weight): return x"
[[kernel.implements]]
members = [{ name = "a", layer = "Linear", references = ["plain"] },
           { name = "b", layer = "Linear", references = ["plain"] }]
same_input = true
layout = { w = "concat(a.weight, b.weight, dim=0)" }
sizes = { n = "a.weight" }
source = "def forward(x, w, n): return ops.two(x, w, n)"
)toml"));
  const auto binding = ReadBinding(&diagnostics);
  ASSERT_TRUE(binding) << DiagnosticsToText(diagnostics.list(), false);
  const auto& codes = binding->Find("MLP")->kernel.implementations;
  ASSERT_EQ(codes.size(), 2u);
  EXPECT_EQ(codes[0].layout.at("w").Text(), "concat(gate_proj.weight, up_weight, dim=0)");
  EXPECT_EQ(codes[0].stock, "def forward(x, w, down_weight): return x");
  EXPECT_EQ(codes[1].layer, "Linear+Linear");
  EXPECT_EQ(codes[1].members.at(1).name, "b");
  EXPECT_TRUE(codes[1].same_input);
  EXPECT_EQ(codes[1].sizes.at("n"), "a.weight");

  const std::string head = "repo = \"a/b\"\n[[kernel]]\nname = \"K\"\n[[kernel.implements]]\n";
  EXPECT_EQ(Wrong(head + "references = []\nsource = \"\""), "no `layer` in `implements`");
  EXPECT_EQ(Wrong(head + "members = [{ name = \"a\" }]\nsource = \"\""), "no `layer` in `members`");
  EXPECT_NE(
      Wrong(head + "layer = \"L\"\nreferences = []\nsource = \"\"\nlayout = { w = \"f(x)\" }"), "");
  EXPECT_EQ(Wrong(head + "layer = \"L\"\nreferences = []\nsource = \"\"\nlayout = { w = 1 }"),
            "`w` must be a string, not a whole number");
}

TEST(Binding, AKernel) {
  Diagnostics diagnostics(std::make_shared<Source>("binding.toml", R"toml(
repo = "org/norms"
ops = ["norm(Tensor x) -> Tensor"]
[[kernel]]
name = "Norm"
devices = ["cpu"]
dtypes = ["float32"]
backward = false
untested = true
tolerance = { float32 = 1e-6 }
[[kernel.implements]]
layer = "RMSNorm"
references = ["llama"]
rank = { weight = 1 }
source = "def forward(x): return ops.norm(x)"
)toml"));
  const auto binding = ReadBinding(&diagnostics);
  ASSERT_TRUE(binding) << DiagnosticsToText(diagnostics.list(), false);
  const BoundKernel* norm = binding->Find("Norm");
  ASSERT_TRUE(norm);
  EXPECT_EQ(norm->backward, false);
  EXPECT_FALSE(norm->torch_compile);
  EXPECT_TRUE(norm->untested);
  EXPECT_EQ(norm->kernel.tolerance.at("float32"), 1e-6);
  EXPECT_EQ(norm->kernel.implementations.at(0).rank.at("weight"), 1);
  EXPECT_FALSE(binding->Find("Other"));
}

// What the embedded ones say of the catalogue: forms that there are, with their parameters.
TEST(Binding, FormsAndParameters) {
  for (const Binding& binding : EmbeddedBindings()) {
    for (const BoundKernel& bound : binding.kernels) {
      EXPECT_FALSE(bound.kernel.devices.empty()) << binding.repo;
      for (const Implementation& written : bound.kernel.implementations) {
        const std::string where = binding.repo + ":" + bound.kernel.name + " " + written.layer;
        const Layer* layer = BuiltinCatalogue().FindLayer(written.layer);
        ASSERT_TRUE(layer) << where;
        EXPECT_FALSE(bound.kernel.tolerance.empty()) << where;
        const auto signature = ReadForwardSignature(written.source);
        ASSERT_TRUE(signature) << where;
        for (const std::string& name : written.references) {
          const auto reference =
              std::find_if(layer->references.begin(), layer->references.end(),
                           [&](const Reference& one) { return one.name == name; });
          ASSERT_NE(reference, layer->references.end()) << where << " " << name;
          const auto stock = ReadForwardSignature(reference->source);
          ASSERT_EQ(stock->parameters.size(), signature->parameters.size()) << where;
          for (size_t i = 0; i < stock->parameters.size(); ++i) {
            EXPECT_EQ(stock->parameters[i].name, signature->parameters[i].name) << where;
            EXPECT_EQ(stock->parameters[i].type, signature->parameters[i].type) << where;
          }
          EXPECT_EQ(stock->returns, signature->returns) << where;
        }
      }
    }
  }
}

}  // namespace
}  // namespace kernelmap
