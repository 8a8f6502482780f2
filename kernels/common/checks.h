// Argument checks that ops share. Every message names the op, the argument, and what was seen.
#pragma once

#include <ATen/core/Tensor.h>

namespace kernelmap {

/// float32, bfloat16 or float16, strided (not sparse, not quantized), on `device`.
void CheckFloating(const char* op, const char* name, const at::Tensor& t, c10::Device device);

/// CheckFloating, and the dtype and shape of `like`.
void CheckLike(const char* op, const char* name, const at::Tensor& t, const char* like_name,
               const at::Tensor& like);

/// Whether `t` has memory of the CPU to read, unlike a tensor that torch.compile traces with,
/// though that says cpu too.
bool HasCpuMemory(const at::Tensor& t);

}  // namespace kernelmap
