// Runs a stock archive and its rewritten form on the same inputs and compares what comes out: at
// the end, and at each site that was replaced.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rewriter/apply.h"
#include "rewriter/modules/load_options.h"

namespace kernelmap {

struct VerifyOptions {
  /// A file with a tuple of tensors (or one tensor) that torch.save wrote. Nothing: the input that
  /// the stock archive's extra file input.json describes, {"shape": [2, 8], "vocab": 100}: token
  /// ids in [1, vocab), or with four dimensions pixels in the model's dtype; or what its "dtype"
  /// says: uniform in [0, 1) for floating ones. Seed 0.
  std::optional<std::string> inputs;
  std::string device = "cpu";
  LoadOptions kernels;  // for OUT
};

/// How far one output, or the outputs of all calls of one site, is from the stock code's.
struct Difference {
  double max_abs = 0;     // max |a - b|; infinite where only one of them is nan, or shapes differ
  double max_rel = 0;     // the same, of each tensor, over max |b|
  double max_ulp = 0;     // the same, number by number, in steps of the dtype from b to a
  bool bit_exact = true;  // same dtypes, shapes and bytes
};

struct SiteDifference {
  std::string path, name;             // as in the report that OUT carries
  std::optional<Difference> output;   // of the module at `path`, its inputs being what came before;
                                      // nothing: no such module was called in both archives
  std::optional<bool> deterministic;  // two runs of OUT gave the same bytes here
};

struct InputDescription {
  std::string dtype;  // "int64"
  std::vector<int64_t> shape;
};

struct VerifyResult {
  std::string model_file, out_file;  // base names
  std::string input_source;          // "input.json", or the base name of the file
  std::vector<InputDescription> inputs;

  Difference output;
  bool deterministic = false;  // two runs of OUT gave the same bytes
  /// What `ok` means. "relative": max_rel <= limit, for float32. "float32_run": for 16-bit models,
  /// the errors being distances from a run of the stock archive in float32, out_error <= limit *
  /// stock_error + unit, and the same of root mean squares, with unit over the root of the number
  /// of results: one result that is one last place off decides nothing (verify_judge.h).
  /// "relative_16_bit": max_rel <= limit, where that run was not possible.
  std::string tolerance_kind;
  double limit = 0;
  std::optional<double> stock_error, out_error;  // of "float32_run": the largest
  std::optional<double> stock_rms, out_rms;      // and the root mean square
  std::optional<double> unit, rms_unit;  // the last place of the largest result, and its part
  std::string float32_run_failed;        // why, where it was needed and not possible
  bool ok = false;

  std::vector<SiteDifference> sites;  // in the report's order; only replaced and fused ones
  /// Index of the site with the largest max_rel, the first of several; nothing: all are bit-exact.
  std::optional<size_t> worst_site;
};

struct VerifyOutcome {
  std::optional<VerifyResult> result;
  std::optional<ApplyError> error;
};

/// Runs the code of both archives, without gradients: of the stock one two or three times, of OUT
/// four times. OUT needs to be an archive of kernelmap's; without a report in it there are no
/// sites. Needs memory for both models and the outputs of all sites.
VerifyOutcome Verify(const std::string& model_path, const std::string& out_path,
                     const VerifyOptions& options);

/// kernelmap-verify/1, ending in a newline; numbers that are not finite are null.
std::string VerifyToJson(const VerifyResult& result);
std::string VerifyToText(const VerifyResult& result);

}  // namespace kernelmap
