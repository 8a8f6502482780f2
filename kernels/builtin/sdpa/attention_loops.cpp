#include "kernels/builtin/sdpa/attention_loops.h"

#include <limits>
#include <vector>

#include "kernels/cpu/math.h"

namespace kernelmap::KM_ISA {
namespace {

float Sum(FloatVec v) {
  return at::vec::vec_reduce_all<float>([](FloatVec a, FloatVec b) { return a + b; }, v);
}

template <class T>
float Dot(const float* q, const T* k, int64_t width) {
  FloatVec lo(0.0f), hi(0.0f);
  int64_t i = 0;
  for (; i + kBlock <= width; i += kBlock) {
    const Block a = Load(q + i), b = Load(k + i);
    lo = at::vec::fmadd(a.lo, b.lo, lo);
    hi = at::vec::fmadd(a.hi, b.hi, hi);
  }
  if (const int64_t rest = width - i; rest > 0) {
    const Block a = Load(q + i, rest), b = Load(k + i, rest);
    lo = at::vec::fmadd(a.lo, b.lo, lo);
    hi = at::vec::fmadd(a.hi, b.hi, hi);
  }
  return Sum(lo + hi);
}

// Scores become weights e^(score - max); gives their sum. nan among them makes it nan.
float Softmax(float* scores, int64_t length) {
  FloatVec max(-std::numeric_limits<float>::infinity());
  for (int64_t i = 0; i < length; i += kLanes) {
    const int64_t count = std::min(kLanes, length - i);
    max = at::vec::maximum(max, FloatVec::set(max, FloatVec::loadu(scores + i, count), count));
  }
  const FloatVec top(at::vec::vec_reduce_all<float>(
      [](FloatVec a, FloatVec b) { return at::vec::maximum(a, b); }, max));
  FloatVec sum(0.0f);
  for (int64_t i = 0; i < length; i += kLanes) {
    const int64_t count = std::min(kLanes, length - i);
    const FloatVec weight = BoundedExp(FloatVec::loadu(scores + i, count) - top);
    weight.store(scores + i, static_cast<int>(count));
    sum = sum + FloatVec::set(FloatVec(0.0f), weight, count);
  }
  return Sum(sum);
}

// kBlocks blocks of features, the last one `rest` long (0: whole), of the weighted sum of values.
template <int kBlocks, class T>
void WeightedSum(const float* weights, const T* v, int64_t stride, int64_t length, float factor,
                 T* out, int64_t rest) {
  Block sum[kBlocks];
  for (Block& block : sum) block = {FloatVec(0.0f), FloatVec(0.0f)};
  for (int64_t j = 0; j < length; ++j, v += stride) {
    const FloatVec weight(weights[j]);
    for (int b = 0; b < kBlocks; ++b) {
      const Block value = rest ? Load(v + b * kBlock, rest) : Load(v + b * kBlock);
      sum[b].lo = at::vec::fmadd(weight, value.lo, sum[b].lo);
      sum[b].hi = at::vec::fmadd(weight, value.hi, sum[b].hi);
    }
  }
  for (int b = 0; b < kBlocks; ++b) {
    const Block value = sum[b] * FloatVec(factor);
    rest ? Store(out + b * kBlock, value, rest) : Store(out + b * kBlock, value);
  }
}

template <class T>
void Head(const AttentionArgs& args, int64_t batch, int64_t head, float* workspace) {
  const auto at = [&](const void* base, const AttentionStrides& strides, int64_t h) {
    return static_cast<const T*>(base) + batch * strides.batch + h * strides.head;
  };
  const int64_t kv_head = head / args.group;
  const T* q = at(args.q, args.q_strides, head);
  const T* k = at(args.k, args.k_strides, kv_head);
  const T* v = at(args.v, args.v_strides, kv_head);
  const T* mask = args.mask ? at(args.mask, args.mask_strides, head) : nullptr;
  float* wide_q = workspace;
  float* scores = workspace + args.width;
  for (int64_t i = 0; i < args.width; ++i) wide_q[i] = static_cast<float>(q[i]);
  for (int64_t j = 0; j < args.length; ++j) {
    scores[j] = Dot(wide_q, k + j * args.k_strides.token, args.width) * args.scale;
    if (mask) scores[j] += static_cast<float>(mask[j * args.mask_strides.token]);
  }
  const float factor = 1.0f / Softmax(scores, args.length);
  T* out = static_cast<T*>(args.out) + (batch * args.heads + head) * args.out_width;
  int64_t i = 0;
  const auto run = [&]<int kBlocks>() {
    for (; i + kBlocks * kBlock <= args.out_width; i += kBlocks * kBlock) {
      WeightedSum<kBlocks>(scores, v + i, args.v_strides.token, args.length, factor, out + i, 0);
    }
  };
  run.template operator()<4>();
  run.template operator()<2>();
  run.template operator()<1>();
  if (const int64_t rest = args.out_width - i; rest > 0) {
    WeightedSum<1>(scores, v + i, args.v_strides.token, args.length, factor, out + i, rest);
  }
}

// `row` of scores, in float32 in `wide` and then back as weights.
template <class T>
void CapRow(T* row, const T* mask, const CappedSoftmaxArgs& args, float* wide) {
  const FloatVec scale(args.scale), cap(args.cap);
  const auto capped = [&](FloatVec x) { return (x * scale / cap).tanh() * cap; };
  for (int64_t i = 0; i < args.length; i += kBlock) {
    const int64_t n = std::min(kBlock, args.length - i);
    Block x = Map(capped, n == kBlock ? Load(row + i) : Load(row + i, n));
    if (mask) x = x + (n == kBlock ? Load(mask + i) : Load(mask + i, n));
    Store(wide + i, x);  // `wide` has room for whole blocks
  }
  const FloatVec factor(1.0f / Softmax(wide, args.length));
  for (int64_t i = 0; i < args.length; i += kBlock) {
    const int64_t n = std::min(kBlock, args.length - i);
    const Block weight = Load(wide + i) * factor;
    n == kBlock ? Store(row + i, weight) : Store(row + i, weight, n);
  }
}

}  // namespace

void CappedSoftmax(const CappedSoftmaxArgs& args, int64_t begin, int64_t end) {
  std::vector<float> wide(static_cast<std::size_t>(args.length + kBlock));
  WithType(args.type, [&](auto element) {
    using T = decltype(element);
    const int64_t per_batch = args.heads * args.tokens;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / per_batch, h = i / args.tokens % args.heads, s = i % args.tokens;
      const AttentionStrides& strides = args.mask_strides;
      const T* mask = static_cast<const T*>(args.mask);
      if (mask) mask += b * strides.batch + h * strides.head + s * strides.token;
      CapRow(static_cast<T*>(args.scores) + i * args.length, mask, args, wide.data());
    }
  });
}

void DecodeAttention(const AttentionArgs& args, int64_t begin, int64_t end) {
  WithType(args.type, [&](auto element) {
    for (int64_t i = begin; i < end; ++i) {
      Head<decltype(element)>(args, i / args.heads, i % args.heads,
                              args.workspace + i * AttentionWorkspace(args));
    }
  });
}

}  // namespace kernelmap::KM_ISA
