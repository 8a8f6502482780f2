// What kernelmap knows of kernels of the Hub beyond what their own files say: kernels/bindings/,
// one file a repository, embedded at build time. A binding never makes anybody trusted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diagnostics.h"

namespace kernelmap {

/// Kernels that only Python can run. `names` empty: all of the repository's.
struct PythonOnly {
  std::vector<std::string> names;
  std::string why;  // "Triton code, which is compiled and started from Python"
};

struct Binding {
  std::string repo;  // "kernels-community/liger-kernels"
  std::vector<PythonOnly> python_only;

  /// Why the kernel `name` cannot be used without Python; empty when nothing says that it cannot.
  std::string WhyPythonOnly(std::string_view name) const;
};

/// Reads one binding file, a TOML document. Nothing, and diagnostics, when it is wrong.
std::optional<Binding> ReadBinding(Diagnostics* diagnostics);

/// The embedded binding of a repository, or null. A broken file of ours ends the program.
const Binding* FindBinding(std::string_view repo);

}  // namespace kernelmap
