// What the tests of kernelize share: archives, plans and comparisons.
#pragma once

#include <gtest/gtest.h>
#include <torch/script.h>

#include <functional>
#include <string>

#include "compiler/compile.h"

namespace kernelmap {

inline std::string ModelPath(const std::string& name) {
  return std::string(KM_TEST_MODELS) + "/" + name + ".pt";
}

/// The plan of a config's text, for the CPU.
inline Plan PlanOf(const std::string& text, const std::string& mode = "inference") {
  const Loaded loaded = LoadConfigText("config.toml", text);
  EXPECT_EQ(loaded.errors, 0u) << DiagnosticsToText(loaded.diagnostics, false);
  std::vector<Diagnostic> diagnostics;
  TargetFlags flags;
  flags.device = "cpu";
  flags.mode = mode;
  const auto target = ResolveTarget(flags, &*loaded.config, &diagnostics);
  EXPECT_TRUE(target.has_value());
  return Resolve(&*loaded.config, *target, Environment{});
}

/// The first tensor of what forward returned.
inline at::Tensor FirstTensor(const c10::IValue& value) {
  if (value.isTensor()) return value.toTensor();
  if (value.isTuple()) return FirstTensor(value.toTupleRef().elements()[0]);
  return FirstTensor(value.toGenericDict().begin()->value());
}

inline at::Tensor Forward(torch::jit::Module module, const at::Tensor& input) {
  return FirstTensor(module.forward({input}));
}

/// What an error says; "" where there was none.
inline std::string ErrorOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

inline at::Tensor Ids(int64_t seed = 0, at::IntArrayRef shape = {2, 9}) {
  return at::remainder(at::arange(seed, seed + shape[0] * shape[1]) * 37, 99).view(shape) + 1;
}

}  // namespace kernelmap
