// kernelmap::add_rms_norm: total = residual + x, and kernelmap::rms_norm of it; returns both.
//
// residual and x broadcast and promote as in a sum. Composed of the two, so gradients are theirs;
// the sum is not read again from memory only where the cache still holds it.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <tuple>

namespace kernelmap {
namespace {

std::tuple<at::Tensor, at::Tensor> AddRmsNorm(const at::Tensor& residual, const at::Tensor& x,
                                              const at::Tensor& weight, double eps,
                                              bool cast_first) {
  static const auto rms_norm =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("kernelmap::rms_norm", "")
          .typed<at::Tensor(const at::Tensor&, const at::Tensor&, double, double, bool)>();
  const at::Tensor total = residual + x;
  return {rms_norm.call(total, weight, eps, 0.0, cast_first), total};
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(kernelmap, m) {
  m.def(
      "add_rms_norm(Tensor residual, Tensor x, Tensor weight, float eps, bool cast_first=True) -> "
      "(Tensor, Tensor)",
      torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, TORCH_FN(AddRmsNorm)));
}

}  // namespace kernelmap
