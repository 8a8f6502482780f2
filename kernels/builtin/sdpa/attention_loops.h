// The inner loops of kernelmap::attention for one query token (attention.cpp), and of
// kernelmap::attention_capped (attention_capped.cpp).
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>

#include "kernels/cpu/capability.h"

namespace kernelmap {

/// Strides are in elements; those of the features are 1.
struct AttentionStrides {
  int64_t batch, head, token;
};

struct AttentionArgs {
  const void* q;     // [batch, heads, 1, width]
  const void* k;     // [batch, heads / group, length, width]
  const void* v;     // [batch, heads / group, length, out_width]
  const void* mask;  // added to the scores; [batch, heads, 1, length]; null: none
  void* out;         // [batch, heads, 1, out_width], contiguous
  float* workspace;  // AttentionWorkspace() floats a head
  c10::ScalarType type;
  int64_t heads, group, length, width, out_width;
  AttentionStrides q_strides, k_strides, v_strides, mask_strides;
  float scale;
};

inline int64_t AttentionWorkspace(const AttentionArgs& args) {
  return args.length + args.width;  // the scores, and the query in float32
}

/// Rows of scores, [batch, heads, tokens, length] and contiguous, become weights in place:
/// softmax(tanh(score * scale / cap) * cap + mask).
struct CappedSoftmaxArgs {
  void* scores;
  const void* mask;  // [batch, heads, tokens, length]; null: none
  c10::ScalarType type;
  int64_t heads, tokens, length;
  AttentionStrides mask_strides;
  float scale, cap;
};

}  // namespace kernelmap

/// Rows [begin, end), counted through batch, heads and tokens.
KM_DECLARE_LOOP(void CappedSoftmax(const CappedSoftmaxArgs& args, int64_t begin, int64_t end);)
/// Heads [begin, end), counted through the batch.
KM_DECLARE_LOOP(void DecodeAttention(const AttentionArgs& args, int64_t begin, int64_t end);)
