#include "rewriter/verify.h"

#include <ATen/ATen.h>

#include "compiler/archive/file.h"
#include "rewriter/error_text.h"
#include "rewriter/verify_compare.h"
#include "rewriter/verify_inputs.h"
#include "rewriter/verify_judge.h"
#include "rewriter/verify_run.h"
#include "rewriter/verify_sites.h"

namespace kernelmap {
namespace {

using verify::Failure;
using verify::Inputs;
using verify::Run;
using verify::Source;
using verify::Tensors;

constexpr const char* kReportFile = "kernelmap/report.json";
constexpr const char* kInputFile = "input.json";

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
  VerifyResult result;
  result.model_file = BaseName(model_path);
  result.out_file = BaseName(out_path);

  torch::jit::ExtraFilesMap stock_files{{kInputFile, ""}}, out_files{{kReportFile, ""}};
  torch::jit::Module stock_model = verify::Load(stock, &stock_files);
  torch::jit::Module out_model = verify::Load(out, &out_files);
  Inputs inputs;
  result.input_source = options.inputs ? BaseName(*options.inputs) : kInputFile;
  const auto error = options.inputs
                         ? ReadInputs(*options.inputs, &inputs)
                         : MakeInputs(stock_files[kInputFile], stock_model, model_path, &inputs);
  if (error) throw Failure{*error};
  Describe(inputs, &result);
  for (c10::IValue& input : inputs) input = input.toTensor().to(device);

  const Tensors expected = Run(stock, stock_model, inputs);
  const Tensors found = Run(out, out_model, inputs);
  AddDifference(found, expected, &result.output);
  Difference again;
  AddDifference(Run(out, out_model, inputs), found, &again);
  result.deterministic = again.bit_exact;
  verify::Judge(stock, stock_model, inputs, expected, found, &result);
  result.sites = verify::ReadSites(out_files[kReportFile]);
  verify::CompareSites(stock, out, inputs, &result.sites);
  result.worst_site = verify::WorstSite(result.sites);
  return result;
}

}  // namespace

VerifyOutcome Verify(const std::string& model_path, const std::string& out_path,
                     const VerifyOptions& options) {
  try {
    return {VerifyArchives(model_path, out_path, options), std::nullopt};
  } catch (const Failure& failure) {
    return {std::nullopt, failure.error};
  } catch (const std::exception& e) {
    return {std::nullopt, ApplyError{out_path, FirstErrorLine(e), false}};
  }
}

}  // namespace kernelmap
