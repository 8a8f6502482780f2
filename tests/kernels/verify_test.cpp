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

#include "rewriter/verify_compare.h"
#include "rewriter/verify_judge.h"

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
  EXPECT_GT(result.sites[0].output->max_ulp, 1);
  EXPECT_EQ(result.worst_site, 0u);
  for (const int i : {0, 1}) EXPECT_EQ(result.sites[i].deterministic, true);
  EXPECT_NE(VerifyToText(result).find("worst: model.model.norm  RMSNorm\n"), std::string::npos);
  ASSERT_TRUE(result.sites[1].output);
  EXPECT_TRUE(result.sites[1].output->bit_exact);  // before it
  EXPECT_FALSE(result.sites[2].output || result.sites[2].deterministic);
}

TEST(Verify, CountsStepsOfTheDType) {
  const auto ulp = [](at::ScalarType dtype, double a, double b) {
    Difference difference;
    AddDifference({at::full({2}, a, dtype)}, {at::full({2}, b, dtype)}, &difference);
    return difference.max_ulp;
  };
  EXPECT_EQ(ulp(at::kBFloat16, 1, 1), 0);
  EXPECT_EQ(ulp(at::kBFloat16, 1.0078125, 1), 1);
  EXPECT_EQ(ulp(at::kBFloat16, 0.99609375, 1), 1);  // steps are half as wide below
  EXPECT_EQ(ulp(at::kHalf, 2, 1), 1024);
  EXPECT_EQ(ulp(at::kFloat, -1.0 - std::ldexp(1, -22), -1), 2);
  EXPECT_EQ(ulp(at::kFloat, -0.0, 0.0), 0);
  EXPECT_EQ(ulp(at::kFloat, std::ldexp(1, -149), -std::ldexp(1, -149)), 2);
  EXPECT_EQ(ulp(at::kDouble, 1 + std::ldexp(1, -51), 1), 2);
  EXPECT_EQ(ulp(at::kLong, 7, 4), 3);
  EXPECT_EQ(ulp(at::kFloat, NAN, NAN), 0);
  EXPECT_TRUE(std::isinf(ulp(at::kFloat, INFINITY, 1)));
}

// What OUT gives is put in, so that single errors can be chosen.
bool AsRight(const at::Tensor& truth, const at::Tensor& stock, const at::Tensor& out) {
  const Distance own = DistanceFrom({truth}, {stock}), other = DistanceFrom({truth}, {out});
  VerifyResult verify;
  verify.limit = 1.5;
  verify.output.bit_exact = false;
  verify.stock_error = own.largest, verify.out_error = other.largest;
  verify.stock_rms = own.rms, verify.out_rms = other.rms;
  verify.unit = own.unit, verify.rms_unit = own.unit / std::sqrt(static_cast<double>(own.count));
  return verify::AsRight(verify);
}

TEST(Verify, OneLastPlaceDecidesNothing) {
  at::manual_seed(0);
  const at::Tensor truth = at::randn({64, 64});
  const at::Tensor stock = truth.to(at::kBFloat16);
  const double unit = DistanceFrom({truth}, {stock}).unit;
  EXPECT_GE(unit, std::ldexp(1, -6));  // the largest number is above 2
  at::Tensor out = stock.clone();
  const int64_t largest = truth.abs().argmax().item<int64_t>();
  out.view(-1)[largest] += unit;
  EXPECT_TRUE(AsRight(truth, stock, out));
  // By itself too, where the stock model was lucky.
  EXPECT_TRUE(AsRight(at::ones({1}), at::ones({1}, at::kBFloat16),
                      at::full({1}, 1.0078125, at::kBFloat16)));
}

TEST(Verify, WorseOnTheWholeOrSomewhereIsWorse) {
  at::manual_seed(0);
  const at::Tensor truth = at::randn({64, 64});
  const at::Tensor stock = truth.to(at::kBFloat16);
  // Each result two roundings off: no single one is far off.
  const at::Tensor twice = (truth * (1 + std::ldexp(1, -8))).to(at::kBFloat16);
  EXPECT_FALSE(AsRight(truth, stock, twice));
  at::Tensor out = stock.clone();
  out.view(-1)[7] += 0.1;  // hardly anything on the whole
  EXPECT_FALSE(AsRight(truth, stock, out));
  out = stock.clone();
  out.view(-1)[7] = NAN;
  EXPECT_FALSE(AsRight(truth, stock, out));
  EXPECT_FALSE(AsRight(truth, stock, stock.narrow(0, 0, 63)));
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
