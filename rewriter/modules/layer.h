// A layer of a C++ module tree that says which layer of the catalogue it is, so that a kernel may
// stand for it: the C++ form of @use_kernel_forward_from_hub("RMSNorm").
//
//   struct NormImpl : torch::nn::Module, kernelmap::KernelLayer {
//     NormImpl(int64_t width) : KernelLayer("RMSNorm", "llama") {…}
//     at::Tensor forward(const at::Tensor& x) {
//       KM_KERNEL_FORWARD(x, weight, eps);  // returns from here once a kernel stands for the layer
//       …stock code…
//     }
//   };
//
// No code is proved here: that the stock code computes what the named form of the layer does
// (kernels/layers/NAME.toml, whose parameters are the arguments, in order) is the class's word.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace kernelmap {

/// A kernel's code, ready to run. Any number of layers and threads may share it.
class KernelProgram;

class KernelLayer {
 public:
  /// `layer`: "RMSNorm"; `form`: one of its references, "llama".
  KernelLayer(std::string layer, std::string form);
  virtual ~KernelLayer();
  KernelLayer(const KernelLayer&);  // a copy has the same kernel
  KernelLayer& operator=(const KernelLayer&);

  const std::string& kernel_layer() const { return layer_; }
  const std::string& kernel_form() const { return form_; }
  /// Whether forward should leave its work to `kernel`.
  bool has_kernel() const { return program_ != nullptr; }
  /// "builtin:rms_norm"; empty without one.
  std::string kernel_ref() const;

  /// What kernelize uses: null takes the kernel away. Not while forward runs.
  void set_kernel(std::shared_ptr<const KernelProgram> program) { program_ = std::move(program); }
  const std::shared_ptr<const KernelProgram>& kernel_program() const { return program_; }

 protected:
  /// Runs the kernel on the arguments of the layer's form: tensors, and numbers such as eps. The
  /// result is one tensor. Shapes and dtypes are as the kernel takes them (docs/inprocess.md);
  /// others, and a wrong number or type of arguments, throw c10::Error. Gradients are recorded as
  /// for any operation.
  template <typename... Arguments>
  at::Tensor kernel(Arguments&&... arguments) const {
    return RunKernel({c10::IValue(std::forward<Arguments>(arguments))...});
  }

 private:
  at::Tensor RunKernel(std::vector<c10::IValue> arguments) const;
  std::string layer_, form_;
  std::shared_ptr<const KernelProgram> program_;
};

}  // namespace kernelmap

/// The first line of a layer's forward.
#define KM_KERNEL_FORWARD(...) \
  if (this->has_kernel()) return this->kernel(__VA_ARGS__)
