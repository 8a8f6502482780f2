#include "rewriter/verify_judge.h"

#include <algorithm>
#include <cmath>

#include "rewriter/error_text.h"
#include "rewriter/verify_compare.h"
#include "rewriter/verify_float32.h"

namespace kernelmap::verify {
namespace {

constexpr double kRelativeLimit = 1e-5;       // float32
constexpr double kFloat32RunLimit = 1.5;      // times the stock model's own error
constexpr double kRelative16BitLimit = 0.05;  // where there is no float32 run to compare with

// Fills in the errors of both, or why they cannot be had.
void MeasureErrors(const Source& stock, const Inputs& inputs, const Tensors& expected,
                   const Tensors& result, VerifyResult* verify) {
  try {
    torch::jit::Module model = Load(stock);
    ConvertToFloat32(model);
    const Tensors truth = Run(stock, model, ToFloat32(inputs));
    const Distance own = DistanceFrom(truth, expected), other = DistanceFrom(truth, result);
    verify->stock_error = own.largest;
    verify->out_error = other.largest;
    verify->stock_rms = own.rms;
    verify->out_rms = other.rms;
    verify->unit = own.unit;
    verify->rms_unit = own.unit / std::sqrt(static_cast<double>(std::max<int64_t>(own.count, 1)));
  } catch (const Failure& failure) {
    verify->float32_run_failed = failure.error.message;
  } catch (const std::exception& e) {
    verify->float32_run_failed = FirstErrorLine(e);
  }
}

}  // namespace

bool AsRight(const VerifyResult& verify) {
  if (verify.output.bit_exact) return true;
  if (!verify.stock_error) return verify.output.max_rel <= verify.limit;
  return *verify.out_error <= verify.limit * *verify.stock_error + *verify.unit &&
         *verify.out_rms <= verify.limit * *verify.stock_rms + *verify.rms_unit;
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
  verify->ok = AsRight(*verify);
}

}  // namespace kernelmap::verify
