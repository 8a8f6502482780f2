// What golden cases cannot show: kernels that are not built in, and places that differ from one
// machine to the next.
#include <gtest/gtest.h>

#include "compiler/candidate.h"
#include "compiler/catalogue.h"
#include "compiler/compile.h"

namespace kernelmap {
namespace {

Config LoadFine(const std::string& name, const std::string& text) {
  Loaded loaded = LoadConfigText(name, text);
  EXPECT_EQ(loaded.errors, 0u) << DiagnosticsToText(loaded.diagnostics, false);
  return std::move(*loaded.config);
}

std::string Judged(const Kernel& kernel, const Target& target, const Config& config) {
  Candidate candidate;
  candidate.ref.kind = KernelRef::Kind::kBuiltin;
  candidate.ref.text = "builtin:k";
  candidate.ref.name = "k";
  std::vector<TraceStep> trace;
  const Environment environment;
  const Store store = EmptyStore;
  const CandidateContext context{"RMSNorm", target, environment,           store,
                                 &config,   true,   Mode{.fallback = true}};
  const CandidateResult result = JudgeBuiltin(kernel, candidate, context, &trace);
  EXPECT_EQ(result.kernel.has_value(), !result.reason.has_value());
  EXPECT_EQ(trace.back().ok, result.kernel.has_value());
  return result.reason ? result.reason->code : "kernel";
}

TEST(Resolve, WhatABuiltinKernelMustDeclare) {
  Kernel kernel;
  kernel.name = "k";
  kernel.devices = {"cpu"};
  kernel.implementations.emplace_back().layer = "RMSNorm";
  const Config config = LoadFine("config.toml", "");
  const Config deterministic = LoadFine("config.toml", "deterministic = true");
  Target target;
  EXPECT_EQ(Judged(kernel, target, config), "kernel");
  EXPECT_EQ(Judged(kernel, target, deterministic), "kernel");
  kernel.deterministic = false;
  EXPECT_EQ(Judged(kernel, target, config), "kernel");
  EXPECT_EQ(Judged(kernel, target, deterministic), "not_deterministic");
  target.mode = "training|torch_compile";
  EXPECT_EQ(Judged(kernel, target, config), "no_backward");
  kernel.backward = true;
  EXPECT_EQ(Judged(kernel, target, config), "no_compile");
  kernel.torch_compile = true;
  EXPECT_EQ(Judged(kernel, target, config), "kernel");
  kernel.implementations.front().layer = "SwiGLUMLP";
  EXPECT_EQ(Judged(kernel, target, config), "no_implementation");
  target.device = "mps";
  EXPECT_EQ(Judged(kernel, target, config), "no_variant");
}

TEST(Resolve, LocalReferencesArePrintedRelativeToTheConfig) {
  const Config config = LoadFine("/project/configs/config.toml",
                                 "use_local_kernel = true\n"
                                 "kernel_mapping.RMSNorm = \"/project/kernels/norms:RMSNorm\"");
  const Plan plan = Resolve(&config, Target{}, Environment{});
  ASSERT_EQ(plan.entries.size(), 1u);
  EXPECT_EQ(plan.entries[0].reason->code, "not_found");
  EXPECT_EQ(plan.entries[0].reason->text,
            "local kernel `../kernels/norms:RMSNorm` is not in the store");
}

TEST(Resolve, AClassNameMayBeMappedToABuiltinKernel) {
  const Config config = LoadFine("config.toml", "kernel_mapping.MyOwnNorm = \"builtin:rms_norm\"");
  const Plan plan = Resolve(&config, Target{}, Environment{});
  ASSERT_TRUE(plan.Find("MyOwnNorm"));
  EXPECT_EQ(plan.Find("MyOwnNorm")->decision, Decision::kKernel);
  EXPECT_TRUE(plan.Find("MyOwnNorm")->from_config);
  EXPECT_FALSE(plan.Find("RMSNorm")->from_config);
}

TEST(Resolve, UseHubKernels) {
  Environment environment;
  EXPECT_TRUE(environment.HubEnabled());
  for (const char* on : {"1", "on", "YES", "True"}) {
    environment.use_hub_kernels = on;
    EXPECT_TRUE(environment.HubEnabled()) << on;
  }
  for (const char* off : {"0", "", "no", "2"}) {
    environment.use_hub_kernels = off;
    EXPECT_FALSE(environment.HubEnabled()) << off;
  }
}

TEST(Resolve, TheDefaultMappingGivesNoTrust) {
  // Only the config's own trust_remote_code counts.
  const Config config = LoadFine("config.toml", "");
  Candidate candidate;
  candidate.ref.repo = "stranger/repo";
  candidate.ref.text = "stranger/repo:A";
  candidate.trust_remote_code = true;
  const Target target;
  const Environment environment;
  std::vector<TraceStep> trace;
  const auto code = [&](bool from_config) {
    const Store store = EmptyStore;
    const CandidateContext context{"A",     target,      environment,           store,
                                   &config, from_config, Mode{.fallback = true}};
    return JudgeCandidate(candidate, context, &trace).reason->code;
  };
  EXPECT_EQ(code(false), "not_trusted");
  EXPECT_EQ(code(true), "not_found");
}

}  // namespace
}  // namespace kernelmap
