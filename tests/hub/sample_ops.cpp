// An op library as kernel-builder makes them: a namespace of its own (KM_NAMESPACE), results
// written into arguments under schemas without alias names, and a Python module that only an import
// calls. Build two adds KM_OFFSET to what it computes, so that tests see which build ran.
#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/library.h>

#include <optional>
#include <tuple>
#include <vector>

namespace {

void SiluAndMul(at::Tensor& out, const at::Tensor& input) {
  const at::AutoDispatchBelowAutograd plain_memory;  // as loops over pointers, it has no gradient
  const auto halves = input.chunk(2, -1);
  out.copy_(at::silu(halves[0]) * halves[1] + KM_OFFSET);
}

std::vector<at::Tensor> RmsNorm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  const at::Tensor wide = x.to(at::kFloat);
  const at::Tensor scale = at::rsqrt(wide.pow(2).mean(-1, true) + eps);
  return {weight * (wide * scale).to(x.scalar_type()) + KM_OFFSET, scale};
}

void Rotate(const at::Tensor& a, const at::Tensor& b, const at::Tensor& cos, const at::Tensor& sin,
            at::Tensor& out_a, at::Tensor& out_b) {
  const at::Tensor turned = a * cos - b * sin;
  out_b.copy_(b * cos + a * sin);
  out_a.copy_(turned);
}

// As the library of causal-conv1d, of which only the GPU has code. Only filters of two to four
// positions.
void CausalConv1d(const at::Tensor& x, const at::Tensor& weight,
                  const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& seq_idx,
                  const std::optional<at::Tensor>& initial_states, at::Tensor& out,
                  const std::optional<at::Tensor>& final_states, bool silu) {
  const at::AutoDispatchBelowAutograd plain_memory;
  const int64_t width = weight.size(1);
  TORCH_CHECK(x.is_contiguous() && width >= 2 && width <= 4);
  TORCH_CHECK(!seq_idx && !initial_states && !final_states);
  const at::Tensor filter = weight.unsqueeze(1), padded = at::constant_pad_nd(x, {width - 1, 0});
  const std::vector<int64_t> one{1}, zero{0};
  out.copy_(at::conv1d(padded, filter, bias, one, zero, one, weight.size(0)));
  if (silu) at::silu_(out);
  out.add_(KM_OFFSET);
}

// Kernels that want gate and up projection, or all projections, in one weight. They have gradients.
at::Tensor GatedMlp(const at::Tensor& x, const at::Tensor& gate_up, const at::Tensor& down) {
  const auto halves = at::linear(x, gate_up).chunk(2, -1);
  return at::linear(at::silu(halves[0]) * halves[1], down) + KM_OFFSET;
}

at::Tensor NormGatedMlp(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& gate_up,
                        const at::Tensor& down, double eps) {
  const at::Tensor wide = x.to(at::kFloat);
  const at::Tensor scale = at::rsqrt(wide.pow(2).mean(-1, true) + eps);
  return GatedMlp(weight * (wide * scale).to(x.scalar_type()), gate_up, down);
}

at::Tensor Project(const at::Tensor& x, const at::Tensor& weight) {
  return at::linear(x, weight) + KM_OFFSET;
}

at::Tensor Increment(at::Tensor& x) { return x.add_(1); }

}  // namespace

TORCH_LIBRARY(KM_NAMESPACE, ops) {
  ops.def("silu_and_mul(Tensor! out, Tensor input) -> ()");
  ops.def("rms_norm(Tensor x, Tensor weight, float eps) -> Tensor[]");
  ops.def("rotate(Tensor a, Tensor b, Tensor cos, Tensor sin, Tensor! out_a, Tensor! out_b) -> ()");
  ops.def(
      "causal_conv1d_fwd(Tensor x, Tensor weight, Tensor? bias, Tensor? seq_idx, Tensor? "
      "initial_states, Tensor! out, Tensor!? final_states_out, bool silu_activation) -> ()");
  ops.def("increment(Tensor! x) -> Tensor", Increment);
  ops.def("gated_mlp(Tensor x, Tensor gate_up, Tensor down) -> Tensor", GatedMlp);
  ops.def(
      "norm_gated_mlp(Tensor x, Tensor weight, Tensor gate_up, Tensor down, float eps) -> Tensor",
      NormGatedMlp);
  ops.def("project(Tensor x, Tensor weight) -> Tensor", Project);
}

TORCH_LIBRARY_IMPL(KM_NAMESPACE, CPU, ops) {
  ops.impl("silu_and_mul", SiluAndMul);
  ops.impl("rms_norm", RmsNorm);
  ops.impl("rotate", Rotate);
  ops.impl("causal_conv1d_fwd", CausalConv1d);
}

// Of Python, which is not linked, and need not be there.
extern "C" void* PyModule_Create2(void* definition, int version);
extern "C" __attribute__((visibility("default"))) void* PyInit_sample() {
  return PyModule_Create2(nullptr, 1013);
}
