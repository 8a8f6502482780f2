// What kernelmap knows of kernels of the Hub beyond what their own files say: kernels/bindings/,
// one file a repository, embedded at build time. A repository may bring a file of the same form,
// kernelmap.toml in its build. A binding never makes anybody trusted.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/catalogue.h"
#include "compiler/diagnostics.h"

namespace kernelmap {

/// Kernels that only Python can run. `names` empty: all of the repository's.
struct PythonOnly {
  std::vector<std::string> names;
  std::string why;  // "Triton code, which is compiled and started from Python"
};

/// What is said of one kernel of a repository. `kernel.implementations` hold TorchScript in which
/// `ops` are the repository's operations; without any, its layers.py is the code. Devices and dtypes
/// that are not said are any.
struct BoundKernel {
  Kernel kernel;
  std::optional<bool> backward, torch_compile;  // over what layers.py says
  bool untested = false;                        // never run by whoever wrote the binding
};

struct Binding {
  std::string repo;  // "kernels-community/liger-kernels"
  std::vector<std::string> ops;  // schemas of the operations that the kernels' code calls
  std::vector<PythonOnly> python_only;
  std::vector<BoundKernel> kernels;

  /// Why the kernel `name` cannot be used without Python; empty when nothing says that it cannot.
  std::string WhyPythonOnly(std::string_view name) const;
  /// What is said of the kernel `name`; null when nothing is.
  const BoundKernel* Find(std::string_view name) const;
};

/// Reads one binding file, a TOML document. Nothing, and diagnostics, when it is wrong.
std::optional<Binding> ReadBinding(Diagnostics* diagnostics);

/// The embedded binding of a repository, or null. A broken file of ours ends the program.
const Binding* FindBinding(std::string_view repo);

/// All embedded bindings, sorted by file name.
const std::vector<Binding>& EmbeddedBindings();

}  // namespace kernelmap
