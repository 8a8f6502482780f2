// Op libraries of kernel repositories, loaded into this process: machine code, so only after trust
// and digests have been checked by the caller.
#pragma once

#include <string>

#include "compiler/store/repository.h"
#include "rewriter/torchscript/compile.h"

namespace kernelmap {

struct HubLibrary {
  std::string name;            // the namespace of its operations: "_relu_cpu_70cb40c"
  torchscript::KernelOps ops;  // what to call from TorchScript for each that runs on the device
};

/// Loads the library of a variant that FindRepository found, for a device ("cpu"), from a private
/// copy of the file that was hashed; a library that this process has already, from here or from
/// Python, is not loaded again. For each operation whose schema TorchScript cannot take (`Tensor!
/// out`, a write without a name) it registers one that forwards to it. Libraries stay for the life
/// of the process. Throws c10::Error where the file has changed, does not load, registers no
/// operation, or where another build with the same namespace is loaded.
HubLibrary LoadHubLibrary(const FoundRepository& repository, const std::string& device);

}  // namespace kernelmap
