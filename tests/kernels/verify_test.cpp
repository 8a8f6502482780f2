// verify, on a small traced model (tests/models) and on copies of it that were changed.
#include "rewriter/verify.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

namespace kernelmap {
namespace {

const std::string kModels = KM_TEST_MODELS;
const char kReport[] = R"({"sites": [
  {"path": "model.model.norm", "name": "RMSNorm", "action": "replaced"},
  {"path": "model.model.layers.0.mlp", "name": "SwiGLUMLP", "action": "fused"},
  {"path": "model.model.layers.1.mlp", "name": "SwiGLUMLP", "action": "fallback"},
  {"path": "model.nowhere", "name": "RMSNorm", "action": "replaced"}]})";

// Tests run at the same time, each in a process of its own.
std::string Temporary(const char* name) {
  const std::string folder = ::testing::TempDir() + "verify_test." + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  return folder + "/" + name;
}

// A copy of a model whose parameters that contain `parameter` in their name are scaled.
std::string Scaled(const std::string& model, const std::string& parameter, double factor) {
  torch::jit::ExtraFilesMap extra{{"input.json", ""}};
  torch::jit::Module module = torch::jit::load(kModels + "/" + model, at::kCPU, extra);
  for (const auto& named : module.named_parameters()) {
    if (named.name.find(parameter) != std::string::npos) {
      const at::NoGradGuard no_grad;
      named.value.mul_(factor);
    }
  }
  extra["kernelmap/report.json"] = kReport;
  std::string path = Temporary(("scaled_" + model).c_str());
  module.save(path, extra);
  return path;
}

VerifyResult VerifyOrFail(const std::string& model, const std::string& out,
                          VerifyOptions options = {}) {
  const VerifyOutcome outcome = Verify(model, out, options);
  if (outcome.error) ADD_FAILURE() << outcome.error->file << ": " << outcome.error->message;
  return outcome.result.value_or(VerifyResult{});
}

TEST(Verify, TheSameArchiveIsBitExact) {
  for (const std::string name : {"llama.pt", "llama.bf16.pt", "vit.pt"}) {
    const VerifyResult result = VerifyOrFail(kModels + "/" + name, Scaled(name, "no such", 1.0));
    EXPECT_TRUE(result.ok && result.output.bit_exact && result.deterministic) << name;
    EXPECT_EQ(result.output.max_abs, 0) << name;
  }
}

TEST(Verify, FindsWhereModelsDiffer) {
  const VerifyResult result =
      VerifyOrFail(kModels + "/llama.pt", Scaled("llama.pt", "layers.1.mlp.down_proj", 1.01));
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.tolerance_kind, "relative");
  ASSERT_EQ(result.sites.size(), 3u);  // the fallback is none
  ASSERT_TRUE(result.sites[0].output);
  EXPECT_GT(result.sites[0].output->max_abs, 0);  // after what was changed
  ASSERT_TRUE(result.sites[1].output);
  EXPECT_TRUE(result.sites[1].output->bit_exact);  // before it
  EXPECT_FALSE(result.sites[2].output);
}

TEST(Verify, SixteenBitsAreJudgedByAFloat32Run) {
  VerifyResult result = VerifyOrFail(kModels + "/llama.bf16.pt",
                                     Scaled("llama.bf16.pt", "layers.1.mlp.down_proj", 1.2));
  EXPECT_EQ(result.tolerance_kind, "float32_run") << result.float32_run_failed;
  ASSERT_TRUE(result.stock_error && result.out_error);
  // Rounding errors of bfloat16, not those of a run that went wrong.
  EXPECT_GT(*result.stock_error, 1e-5);
  EXPECT_LT(*result.stock_error, 0.01);
  result = VerifyOrFail(kModels + "/llama.bf16.pt", Scaled("llama.bf16.pt", "lm_head", 1.05));
  EXPECT_FALSE(result.ok);
}

TEST(Verify, ReadsInputs) {
  const std::string path = Temporary("inputs.pt");
  const at::Tensor ids = at::randint(1, 100, {2, 8}, at::kLong);
  const auto bytes = torch::jit::pickle_save(c10::ivalue::Tuple::create({c10::IValue(ids)}));
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<long>(bytes.size()));
  VerifyOptions options;
  options.inputs = path;
  const std::string model = kModels + "/llama.pt";
  const VerifyResult result = VerifyOrFail(model, model, options);
  EXPECT_TRUE(result.ok);
  EXPECT_EQ(result.input_source, "inputs.pt");
  ASSERT_EQ(result.inputs.size(), 1u);
  EXPECT_EQ(result.inputs[0].dtype, "int64");
  EXPECT_TRUE(result.sites.empty());
}

TEST(Verify, ErrorsNameFileAndCause) {
  const std::string model = kModels + "/llama.pt";
  VerifyOutcome outcome = Verify(model, "/no/such/file.pt", {});
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->file, "/no/such/file.pt");

  torch::jit::Module module = torch::jit::load(model);
  const std::string bare = Temporary("bare.pt");
  module.save(bare);
  outcome = Verify(bare, model, {});
  ASSERT_TRUE(outcome.error);
  EXPECT_NE(outcome.error->message.find("--inputs"), std::string::npos);

  VerifyOptions options;
  options.inputs = model;  // an archive, but no tensors
  outcome = Verify(model, model, options);
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->file, model);
  options.inputs = "/no/such/inputs.pt";
  outcome = Verify(model, model, options);
  ASSERT_TRUE(outcome.error && outcome.error->usage);
}

TEST(Verify, RendersWhatIsNotFinite) {
  VerifyResult result;
  result.output.max_abs = INFINITY;
  result.output.bit_exact = false;
  EXPECT_NE(VerifyToJson(result).find("\"max_abs\": null"), std::string::npos);
  EXPECT_NE(VerifyToText(result).find("FAILED"), std::string::npos);
}

}  // namespace
}  // namespace kernelmap
