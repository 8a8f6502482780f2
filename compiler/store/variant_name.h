// The name of a build variant, taken apart: "torch213-cxx11-cu130-x86_64-linux", "torch-cuda".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/version.h"

namespace kernelmap {

/// A backend with its version, where it has one: "cu130", "rocm71", "cpu".
struct VariantBackend {
  std::string name;  // "cuda", "rocm", "xpu", "cann", "cpu", "metal", "neuron", "tpu"
  std::optional<Version> version;

  /// As variants write it: "cu128". Of a version only the first two numbers count.
  std::string Text() const;
};

/// "cuda 12.8", "cuda", "cpu": as a System has it.
VariantBackend ReadBackend(std::string_view text);

struct VariantName {
  enum class Framework { kTorchStableAbi, kTorch, kTvmFfi, kTorchNoarch };

  Framework framework = Framework::kTorch;
  Version version;                // of the framework; not of kTorchNoarch
  std::optional<bool> cxx11_abi;  // of kTorch
  VariantBackend backend;         // not of kTorchNoarch
  std::string arch, os;           // not of kTorchNoarch
  std::string noarch;             // of kTorchNoarch: "cuda", "universal"

  /// Nothing for a name that no variant has.
  static std::optional<VariantName> Parse(std::string_view text);
  /// In normal form, which is what the library looks for: "torch213-…" of "torch2013-…".
  std::string Text() const;
};

/// The first two numbers of a version; zero where there are fewer.
Digits MajorOf(const Version& version);
Digits MinorOf(const Version& version);

}  // namespace kernelmap
