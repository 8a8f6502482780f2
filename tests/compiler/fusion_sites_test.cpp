#include "compiler/fusion_sites.h"

#include <gtest/gtest.h>

namespace kernelmap {
namespace {

const std::vector<ModuleInfo> kModules = {
    {"", "Model"},
    {"layers", "ModuleList"},
    {"layers.0", "Block"},
    {"layers.0.norm", "LlamaRMSNorm"},
    {"layers.0.mlp", "LlamaMLP"},
    {"layers.1", "Block"},
    {"layers.1.norm", "LayerNorm"},
    {"layers.1.mlp", "LlamaMLP"},
    {"layers.2", "Block"},
    {"layers.2.mlp", "LlamaMLP"},
    {"norm", "LlamaRMSNorm"},
    {"mlp", "OddOne"},
};

Plan PlanWith(std::vector<FusionModule> modules, Decision decision) {
  Plan plan;
  plan.entries.emplace_back();
  PlanEntry& entry = plan.entries.back();
  entry.name = "RMSNorm+MLP";
  entry.modules = std::move(modules);
  entry.decision = decision;
  if (decision == Decision::kKernel) entry.kernel.emplace();
  if (decision == Decision::kFallback) entry.reason = Reason{"not_found", "gone", ""};
  return plan;
}

// "layers.0: candidate layers.0.norm layers.0.mlp", a line a site.
std::string Shown(const Plan& plan) {
  std::string text;
  for (const auto& [parent, sites] : FusionSites(plan, kModules)) {
    for (const Site& site : sites) {
      EXPECT_EQ(site.path, parent);
      text += parent + ": " + std::string(ActionName(site.action));
      if (site.reason) text += " " + site.reason->code + " (" + site.reason->text + ")";
      for (const std::string& member : site.members) text += " " + member;
      text += "\n";
    }
  }
  return text;
}

TEST(FusionSites, EachParentIsOneSite) {
  Plan plan = PlanWith({{"RMSNorm", "layers.*.norm"}, {"MLP", "layers.*.mlp"}}, Decision::kKernel);
  EXPECT_EQ(Shown(plan),
            "layers.0: candidate layers.0.norm layers.0.mlp\n"
            "layers.1: fallback member_class (`layers.1.norm` is a LayerNorm, which is no RMSNorm)"
            " layers.1.norm layers.1.mlp\n"
            "layers.2: fallback member_missing (no module here matches `layers.*.norm`)"
            " layers.2.mlp\n");
  plan.extra_classes = {{"RMSNorm", "LayerNorm"}};
  plan.entries[0].except = {"layers.0"};
  EXPECT_EQ(Shown(plan).substr(0, 20), "layers.0: excluded e");
  EXPECT_NE(Shown(plan).find("layers.1: candidate"), std::string::npos);
  plan.model_root = "model";
  EXPECT_EQ(Shown(plan), "");
}

TEST(FusionSites, TheEntrysReasonComesFirst) {
  const Plan plan = PlanWith({{"RMSNorm", "norm"}, {"MLP", "mlp"}}, Decision::kFallback);
  EXPECT_EQ(Shown(plan), ": fallback not_found (gone) norm mlp\n");
}

TEST(FusionSites, APatternThatMatchesSeveralModulesIsNoMember) {
  const Plan plan =
      PlanWith({{"RMSNorm", "layers.*.*"}, {"MLP", "layers.*.mlp"}}, Decision::kKernel);
  EXPECT_NE(Shown(plan).find("layers.0: fallback member_missing (2 modules here match "
                             "`layers.*.*`)"),
            std::string::npos);
}

}  // namespace
}  // namespace kernelmap
