// Bindings: what is known of repositories of the Hub, and what is wrong with a file.
#include "compiler/binding.h"

#include <gtest/gtest.h>

#include <memory>

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

}  // namespace
}  // namespace kernelmap
