#include "rewriter/verify.h"

#include <ATen/ATen.h>

#include <deque>
#include <nlohmann/json.hpp>

#include "compiler/archive/file.h"
#include "rewriter/modules/load.h"
#include "rewriter/verify_compare.h"
#include "rewriter/verify_float32.h"
#include "rewriter/verify_inputs.h"
#include "rewriter/verify_probe.h"

namespace kernelmap {
namespace {

constexpr double kRelativeLimit = 1e-5;       // float32
constexpr double kFloat32RunLimit = 1.5;      // times the stock model's own error
constexpr double kRelative16BitLimit = 0.05;  // where there is no float32 run to compare with
constexpr const char* kReportFile = "kernelmap/report.json";
constexpr const char* kInputFile = "input.json";

using Inputs = std::vector<c10::IValue>;
using Tensors = std::vector<at::Tensor>;

// Carries an ApplyError out of the steps below; stops in Verify.
struct Failure {
  ApplyError error;
};

std::string FirstLine(const std::exception& e) {
  const auto* error = dynamic_cast<const c10::Error*>(&e);
  const std::string text = error ? error->what_without_backtrace() : e.what();
  const auto start = text.find_first_not_of(" \n");
  return start == std::string::npos ? "" : text.substr(start, text.find('\n', start) - start);
}

// What TorchScript says about an error in a model comes after its own stack.
std::string LastLine(const std::exception& e) {
  std::string text = FirstLine(e);
  const std::string all = e.what();
  const auto at = all.rfind("Error: ");
  if (at != std::string::npos) text = all.substr(at, all.find('\n', at) - at);
  return text;
}

struct Source {
  std::string path;
  at::Device device;
  LoadOptions kernels;
};

torch::jit::Module Load(const Source& archive, torch::jit::ExtraFilesMap* extra = nullptr) {
  torch::jit::ExtraFilesMap none;
  try {
    return load(archive.path, archive.device, extra ? *extra : none, archive.kernels);
  } catch (const std::exception& e) {
    throw Failure{{archive.path, FirstLine(e), false}};
  }
}

// Inputs are copied, since a model may change them; what is random starts alike.
Tensors Run(const Source& archive, torch::jit::Module& model, const Inputs& inputs) {
  Inputs copies;
  for (const c10::IValue& input : inputs) copies.push_back(input.toTensor().clone());
  at::manual_seed(0);
  try {
    const at::NoGradGuard no_grad;
    return FlattenTensors(model.forward(copies));
  } catch (const std::exception& e) {
    throw Failure{{archive.path, "fails on the inputs: " + LastLine(e), false}};
  }
}

std::vector<SiteDifference> ReadSites(const std::string& report) {
  std::vector<SiteDifference> sites;
  const auto json = nlohmann::json::parse(report, nullptr, false);
  if (!json.is_object() || !json.contains("sites") || !json["sites"].is_array()) return sites;
  for (const auto& site : json["sites"]) {
    if (!site.is_object()) continue;
    const auto text = [&](const char* key) {
      const auto it = site.find(key);
      return it != site.end() && it->is_string() ? it->get<std::string>() : std::string();
    };
    if (text("action") != "replaced" && text("action") != "fused") continue;
    sites.push_back({text("path"), text("name"), std::nullopt});
  }
  return sites;
}

// The stock archive's outputs at each site are kept, call by call, until OUT's come by.
void CompareSites(const Source& stock, const Source& out, const Inputs& inputs,
                  std::vector<SiteDifference>* sites) {
  if (sites->empty()) return;
  std::vector<std::string> paths;
  for (const SiteDifference& site : *sites) paths.push_back(site.path);
  std::vector<std::deque<Tensors>> expected(paths.size());
  {
    torch::jit::Module model = Load(stock);
    InsertProbes(model, paths);
    const ProbeScope scope(model, paths, [&](size_t i, const c10::IValue& output) {
      expected[i].push_back(FlattenTensors(output));
    });
    Run(stock, model, inputs);
  }
  torch::jit::Module model = Load(out);
  InsertProbes(model, paths);
  const ProbeScope scope(model, paths, [&](size_t i, const c10::IValue& output) {
    if (expected[i].empty()) return;
    auto& difference = (*sites)[i].output;
    if (!difference) difference = Difference{};
    AddDifference(FlattenTensors(output), expected[i].front(), &*difference);
    expected[i].pop_front();
  });
  Run(out, model, inputs);
}

double MaxAbs(const Tensors& a, const Tensors& b) {
  Difference difference;
  AddDifference(a, b, &difference);
  return difference.max_abs;
}

// Fills in stock_error and out_error, or why they cannot be had.
void MeasureErrors(const Source& stock, const Inputs& inputs, const Tensors& expected,
                   const Tensors& result, VerifyResult* verify) {
  try {
    torch::jit::Module model = Load(stock);
    ConvertToFloat32(model);
    const Tensors truth = Run(stock, model, ToFloat32(inputs));
    verify->stock_error = MaxAbs(expected, truth);
    verify->out_error = MaxAbs(result, truth);
  } catch (const Failure& failure) {
    verify->float32_run_failed = failure.error.message;
  } catch (const std::exception& e) {
    verify->float32_run_failed = FirstLine(e);
  }
}

void Judge(const Source& stock, const torch::jit::Module& model, const Inputs& inputs,
           const Tensors& expected, const Tensors& result, VerifyResult* verify) {
  verify->tolerance_kind = "relative";
  verify->limit = kRelativeLimit;
  if (Has16BitTensors(model, inputs)) {
    MeasureErrors(stock, inputs, expected, result, verify);
    verify->tolerance_kind = verify->stock_error ? "float32_run" : "relative_16_bit";
    verify->limit = verify->stock_error ? kFloat32RunLimit : kRelative16BitLimit;
  }
  verify->ok = verify->output.bit_exact ||
               (verify->stock_error ? *verify->out_error <= verify->limit * *verify->stock_error
                                    : verify->output.max_rel <= verify->limit);
}

void Describe(const Inputs& inputs, VerifyResult* verify) {
  for (const c10::IValue& input : inputs) {
    std::string dtype = c10::toString(input.toTensor().scalar_type());
    static const std::pair<const char*, const char*> kNames[] = {
        {"Long", "int64"},   {"Int", "int32"}, {"Float", "float32"}, {"BFloat16", "bfloat16"},
        {"Half", "float16"}, {"Bool", "bool"}, {"Double", "float64"}};
    for (const auto& [name, ours] : kNames) {
      if (dtype == name) dtype = ours;
    }
    verify->inputs.push_back({dtype, input.toTensor().sizes().vec()});
  }
}

VerifyResult VerifyArchives(const std::string& model_path, const std::string& out_path,
                            const VerifyOptions& options) {
  const at::Device device(options.device);
  const Source stock{model_path, device, options.kernels}, out{out_path, device, options.kernels};
  VerifyResult verify;
  verify.model_file = BaseName(model_path);
  verify.out_file = BaseName(out_path);

  torch::jit::ExtraFilesMap stock_files{{kInputFile, ""}}, out_files{{kReportFile, ""}};
  torch::jit::Module stock_model = Load(stock, &stock_files);
  torch::jit::Module out_model = Load(out, &out_files);
  Inputs inputs;
  verify.input_source = options.inputs ? BaseName(*options.inputs) : kInputFile;
  const auto error = options.inputs
                         ? ReadInputs(*options.inputs, &inputs)
                         : MakeInputs(stock_files[kInputFile], stock_model, model_path, &inputs);
  if (error) throw Failure{*error};
  Describe(inputs, &verify);
  for (c10::IValue& input : inputs) input = input.toTensor().to(device);

  const Tensors expected = Run(stock, stock_model, inputs);
  const Tensors result = Run(out, out_model, inputs);
  AddDifference(result, expected, &verify.output);
  Difference again;
  AddDifference(Run(out, out_model, inputs), result, &again);
  verify.deterministic = again.bit_exact;
  Judge(stock, stock_model, inputs, expected, result, &verify);
  verify.sites = ReadSites(out_files[kReportFile]);
  CompareSites(stock, out, inputs, &verify.sites);
  return verify;
}

}  // namespace

VerifyOutcome Verify(const std::string& model_path, const std::string& out_path,
                     const VerifyOptions& options) {
  try {
    return {VerifyArchives(model_path, out_path, options), std::nullopt};
  } catch (const Failure& failure) {
    return {std::nullopt, failure.error};
  } catch (const std::exception& e) {
    return {std::nullopt, ApplyError{out_path, FirstLine(e), false}};
  }
}

}  // namespace kernelmap
