// The code of a kernel that a layer of a C++ module tree runs.
#pragma once

#include <ATen/core/ivalue.h>

#include <memory>
#include <string>
#include <vector>

namespace kernelmap {

class KernelProgram {
 public:
  /// `source` is TorchScript, with a `def forward`. Throws c10::Error, or what the compiler throws,
  /// when it is wrong.
  static std::shared_ptr<const KernelProgram> Compile(const std::string& ref,
                                                      const std::string& source);
  virtual ~KernelProgram();
  /// The kernel's reference: "builtin:rms_norm".
  virtual const std::string& ref() const = 0;
  /// Throws c10::Error when the arguments are not those of forward.
  virtual c10::IValue Run(std::vector<c10::IValue> arguments) const = 0;
};

}  // namespace kernelmap
