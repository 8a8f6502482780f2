#include "kernels/common/checks.h"

namespace kernelmap {

void CheckFloating(const char* op, const char* name, const at::Tensor& t, c10::Device device) {
  const auto type = t.scalar_type();
  TORCH_CHECK(type == at::kFloat || type == at::kBFloat16 || type == at::kHalf, op, ": ", name,
              " must be float32, bfloat16 or float16, but is ", type);
  TORCH_CHECK(t.layout() == at::kStrided, op, ": ", name, " must be strided, but is ", t.layout());
  TORCH_CHECK(t.device() == device, op, ": ", name, " is on ", t.device(),
              ", but the first argument is on ", device);
}

void CheckLike(const char* op, const char* name, const at::Tensor& t, const char* like_name,
               const at::Tensor& like) {
  CheckFloating(op, name, t, like.device());
  TORCH_CHECK(t.scalar_type() == like.scalar_type(), op, ": ", name, " is ", t.scalar_type(),
              ", but ", like_name, " is ", like.scalar_type());
  TORCH_CHECK(t.sizes() == like.sizes(), op, ": ", name, " has shape ", t.sizes(), ", but ",
              like_name, " has shape ", like.sizes());
}

bool HasCpuMemory(const at::Tensor& t) {
  return t.layout() == at::kStrided && t.key_set().has(c10::DispatchKey::CPU) &&
         !t.key_set().has(c10::DispatchKey::Python);
}

}  // namespace kernelmap
