// Build variants: the directories of a kernel repository's build/ folder, and which of them suits
// a system, as huggingface/kernels 0.17.2 chooses.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/target.h"

namespace kernelmap {

/// What a kernel would run on. Absent means that there is none.
struct System {
  std::optional<std::string> torch;  // "2.13"
  std::optional<bool> cxx11_abi;     // of torch
  std::string backend = "cpu";       // "cuda 12.8", "rocm 6.4", "xpu 2025.2", "cann 8.1", "metal",
                                     // "neuron", "tpu", "cpu"
  std::string arch = "x86_64";       // "aarch64"
  std::string os = "linux";          // "darwin", "windows"
  std::optional<std::string> tvm_ffi;  // version
  std::optional<std::string> macos;    // version
  bool free_threaded = false;          // a Python without the global lock
};

/// The system that a target means: its torch and backend version, this machine's architecture and
/// operating system; of torch the new C++ ABI, which its builds for Linux have. ROCm and CUDA
/// without a version in the target: the backend has none, and no variant that needs one suits.
System SystemOf(const Target& target);
/// "torch 2.13, cuda 13.0, x86_64-linux".
std::string SystemText(const System& system);

/// What torch.version and torch.backends say of a build of torch.
struct TorchBuild {
  std::optional<std::string> cuda, hip, xpu;
  bool mps = false, neuron = false, tpu = false;
};

/// The backend of a build of torch: "cuda 12.8", "rocm 6.4", "metal", "cpu".
std::string BackendOf(const TorchBuild& build);
/// A backend as variants write it: "cu128" of "cuda 12.8".
std::string BackendTag(std::string_view backend);

/// Names are in normal form: a directory that is called otherwise is in `renamed`, and the library
/// looks for it in vain.
struct VariantChoice {
  std::optional<std::string> chosen;            // the best; nothing when none is accepted
  std::vector<std::string> tied;                // others that are as good as the chosen
  std::vector<std::string> accepted;            // best first
  std::map<std::string, std::string> rejected;  // name -> why
  std::vector<std::string> unparsable;
  std::map<std::string, std::string> renamed;  // directory -> normal form, where they differ
};

/// Equally good variants come in the order of their names: Python's order among them is random.
/// On a Python without the global lock, variants with an architecture are in no list.
VariantChoice ChooseVariant(const std::vector<std::string>& names, const System& system);

}  // namespace kernelmap
