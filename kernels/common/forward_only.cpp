#include "kernels/common/forward_only.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/GradMode.h>

namespace kernelmap {
namespace {

void Refuse(const c10::OperatorHandle& op, size_t argument) {
  TORCH_CHECK(false, op.schema().name(), " has no backward, but grad mode is on and argument `",
              op.schema().arguments()[argument].name(),
              "` requires grad; run it under torch.no_grad() or torch.inference_mode()");
}

void Forward(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  if (c10::GradMode::is_enabled()) {
    const size_t count = op.schema().arguments().size();
    const auto arguments = torch::jit::last(*stack, count);
    for (size_t i = 0; i < count; ++i) {
      if (arguments[i].isTensor() && arguments[i].toTensor().requires_grad()) Refuse(op, i);
    }
  }
  at::AutoDispatchBelowADInplaceOrView guard;
  op.redispatchBoxed(keys & c10::after_ADInplaceOrView_keyset, stack);
}

}  // namespace

torch::CppFunction ForwardOnly() { return torch::CppFunction::makeFromBoxedFunction<&Forward>(); }

}  // namespace kernelmap
