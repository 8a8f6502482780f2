// Whether a rewritten model is as right as the stock one.
//
// In float32: the largest difference is at most 1e-5 of the largest result.
//
// In bfloat16 and float16 two right models differ by roundings, so both are held against a run of
// the stock archive in float32 with the same weights. In two norms, the largest error and the root
// of the sum of squares, OUT's may be 1.5 times the stock archive's plus one unit in the last place
// of the largest result. Sums of squares tell whether OUT is worse on the whole, where luck evens
// out; the largest error, whether it is wrong somewhere. The unit is what a single rounding that
// falls the other way adds to either norm: a largest error is a whole number of units or nearly so,
// and without it the luck of one result, or of a small output, decides.
#pragma once

#include "rewriter/verify.h"
#include "rewriter/verify_run.h"

namespace kernelmap::verify {

/// Fills in `verify`'s tolerance and `ok`, from what both archives gave. `model`: the stock one.
void Judge(const Source& stock, const torch::jit::Module& model, const Inputs& inputs,
           const Tensors& expected, const Tensors& result, VerifyResult* verify);

/// What `ok` says, by the tolerance that is filled in.
bool AsRight(const VerifyResult& verify);

}  // namespace kernelmap::verify
