// metadata.json of a build variant, as kernel-builder writes it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kernelmap {

/// Another kernel that a kernel needs.
struct KernelDependency {
  std::string repo;
  std::string revision;  // "v1" of a version
};

struct Metadata {
  std::string name;     // "relu"
  std::string id;       // unique to the build: "_relu_cpu_70cb40c", the namespace of its ops
  std::string version;  // a whole number, not negative
  std::string license;
  std::string backend;             // "cpu", "cuda", "rocm", "xpu", "cann", "metal", "neuron", "tpu"
  std::vector<std::string> archs;  // "9.0a", "gfx942"; empty: not said
  std::vector<std::string> python_depends;
  std::vector<KernelDependency> kernel_depends;
  std::string digest_algorithm;                // "sha256", "sha512"; "" without digests
  std::map<std::string, std::string> digests;  // path -> digest in base64
};

/// Reads the text of a metadata.json. Nothing, and what is wrong, where it is not one. Bounded in
/// depth and number of values; unknown keys are fine.
std::optional<Metadata> ReadMetadata(const std::string& text, std::string* problem);

}  // namespace kernelmap
