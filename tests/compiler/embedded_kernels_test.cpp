// What an archive says of the kernels that it calls: read back, or refused.
#include "compiler/store/embedded_kernels.h"

#include <gtest/gtest.h>

namespace kernelmap {
namespace {

EmbeddedKernels Good() {
  EmbeddedKernel kernel{{"some-org/norms", std::string(40, 'a'), "sha256-0", "Norm"},
                        "some-org/norms:Norm",
                        "torch213-cxx11-cpu-x86_64-linux",
                        {}};
  Adapter adapter{"", "(Tensor x) -> Tensor", "def forward(x: Tensor):\n    return ops.f(x)\n",
                  "def forward(x: Tensor):\n    return x\n"};
  adapter.op = AdapterName(kernel.origin, adapter);
  kernel.adapters.push_back(adapter);
  return {"cpu", {kernel}};
}

// What is said of it after a change that its writer made with care: the op's name is right.
std::string Problem(void (*change)(EmbeddedKernel*)) {
  EmbeddedKernels kernels = Good();
  EmbeddedKernel& kernel = kernels.kernels[0];
  change(&kernel);
  kernel.adapters[0].op = AdapterName(kernel.origin, kernel.adapters[0]);
  std::string problem;
  const auto read = ReadKernels(KernelsToJson(kernels), &problem);
  EXPECT_EQ(read.has_value(), problem.empty());
  return problem;
}

std::string Many(const std::string& text) {
  std::string all;
  for (int i = 0; i < 10000; ++i) all += text;
  return all;
}

TEST(EmbeddedKernels, ReadBackAsWritten) {
  std::string problem;
  const auto read = ReadKernels(KernelsToJson(Good()), &problem);
  ASSERT_TRUE(read) << problem;
  EXPECT_EQ(read->kernels[0].adapters[0], Good().kernels[0].adapters[0]);
}

TEST(EmbeddedKernels, PinnedToACommitAndABuild) {
  EXPECT_EQ(Problem([](EmbeddedKernel* k) { k->origin.commit = "main"; }),
            "`revision` is not what it must be");
  EXPECT_EQ(Problem([](EmbeddedKernel* k) { k->variant = "zzz"; }),
            "`variant` is not what it must be");
}

TEST(EmbeddedKernels, CodeThatTheParserMustNotSee) {
  EXPECT_EQ(Problem([](EmbeddedKernel* k) {
              k->adapters[0].stock = "def forward(x):\n    return " + Many("(") + "x" + Many(")");
            }),
            "`stock` is not what it must be");
  EXPECT_EQ(Problem([](EmbeddedKernel* k) {
              k->adapters[0].forward = "def forward(x):\n    return x" + Many(".neg()");
            }),
            "`forward` is not what it must be");
  EXPECT_EQ(Problem([](EmbeddedKernel* k) {
              k->adapters[0].forward = "def forward(x):\n    return 0 < x.dim() < 2";
            }),
            "`forward` is not what it must be");
  EXPECT_EQ(
      Problem([](EmbeddedKernel* k) { k->adapters[0].schema = "(" + Many("Tensor x") + ")"; }),
      "`schema` is not what it must be");
}

TEST(EmbeddedKernels, AnOpIsNamedByWhatItStandsFor) {
  EmbeddedKernels kernels = Good();
  kernels.kernels[0].adapters[0].forward += "\n";
  std::string problem;
  EXPECT_FALSE(ReadKernels(KernelsToJson(kernels), &problem));
  EXPECT_EQ(problem, "`op` is not what it must be");
}

}  // namespace
}  // namespace kernelmap
