#include "rewriter/bench.h"

#include <torch/script.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "compiler/archive/file.h"
#include "compiler/json_writer.h"
#include "rewriter/modules/load.h"
#include "rewriter/verify_inputs.h"

namespace kernelmap {
namespace {

constexpr int kWarmUp = 3;
constexpr const char* kInputFile = "input.json";

double Seconds(torch::jit::Module& model, const std::vector<c10::IValue>& inputs) {
  const auto start = std::chrono::steady_clock::now();
  model.forward(inputs);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

BenchOutcome Bench(const std::string& model_path, const std::string& out_path,
                   const BenchOptions& options) {
  std::string current = model_path;  // what an exception is about
  try {
    const torch::NoGradGuard no_grad;
    torch::jit::ExtraFilesMap extra{{kInputFile, ""}}, none;
    torch::jit::Module model = load(model_path, std::nullopt, extra, options.kernels);
    current = out_path;
    torch::jit::Module out = load(out_path, std::nullopt, none, options.kernels);
    std::vector<c10::IValue> inputs;
    const auto error = options.inputs ? ReadInputs(*options.inputs, &inputs)
                                      : MakeInputs(extra[kInputFile], model, model_path, &inputs);
    if (error) return {std::nullopt, error};
    std::vector<double> stock, rewritten, ratios;
    for (int i = 0; i < kWarmUp + options.runs; ++i) {
      current = model_path;
      const double a = Seconds(model, inputs);
      current = out_path;
      const double b = Seconds(out, inputs);
      if (i < kWarmUp) continue;
      stock.push_back(a);
      rewritten.push_back(b);
      ratios.push_back(a / b);
    }
    return {BenchResult{BaseName(model_path), BaseName(out_path), options.runs, Median(stock),
                        Median(rewritten), Median(ratios)},
            std::nullopt};
  } catch (const std::exception& e) {
    const std::string text = e.what();
    return {std::nullopt, ApplyError{current, text.substr(0, text.find('\n')), false}};
  }
}

std::string BenchToJson(const BenchResult& r) {
  JsonWriter json;
  json.BeginObject();
  json.Key("format").String("kernelmap-bench/1");
  json.Key("model").String(r.model_file);
  json.Key("out").String(r.out_file);
  json.Key("runs").Integer(r.runs);
  json.Key("model_seconds").Number(r.model_seconds);
  json.Key("out_seconds").Number(r.out_seconds);
  json.Key("ratio").Number(r.ratio);
  json.EndObject();
  return std::move(json).Finish();
}

std::string BenchToText(const BenchResult& r) {
  char text[256];
  std::snprintf(text, sizeof text,
                ": medians of %d runs: %.3f ms stock, %.3f ms rewritten, %.2fx\n", r.runs,
                r.model_seconds * 1e3, r.out_seconds * 1e3, r.ratio);
  return r.model_file + " and " + r.out_file + text;
}

}  // namespace kernelmap
