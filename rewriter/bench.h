// Times a stock archive against its rewritten form, one run of each in turn.
#pragma once

#include <optional>
#include <string>

#include "rewriter/apply.h"
#include "rewriter/modules/load_options.h"

namespace kernelmap {

struct BenchOptions {
  std::optional<std::string> inputs;  // as VerifyOptions
  int runs = 20;                      // of each, after three that warm up
  LoadOptions kernels;                // for OUT
};

struct BenchResult {
  std::string model_file, out_file;  // base names
  int runs = 0;
  double model_seconds = 0, out_seconds = 0;  // medians
  double ratio = 0;                           // median of model / out, pair by pair
};

struct BenchOutcome {
  std::optional<BenchResult> result;
  std::optional<ApplyError> error;
};

/// Runs the code of both archives, without gradients.
BenchOutcome Bench(const std::string& model_path, const std::string& out_path,
                   const BenchOptions& options);

/// kernelmap-bench/1, ending in a newline.
std::string BenchToJson(const BenchResult& result);
std::string BenchToText(const BenchResult& result);

}  // namespace kernelmap
