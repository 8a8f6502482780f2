#include "compiler/plan.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "compiler/catalogue.h"
#include "compiler/compile.h"

namespace kernelmap {
namespace {

TEST(PathMatches, Table) {
  struct Case {
    const char *path, *root, *pattern;
    bool matches;
  };
  const Case cases[] = {
      {"layers.0.mlp", "", "layers.*.mlp", true},
      {"layers.0.mlp.act", "", "layers.*.mlp", false},
      {"layers.0.x.mlp", "", "layers.*.mlp", false},
      {"model.layers.0.mlp", "model", "layers.*.mlp", true},
      {"layers.0.mlp", "model", "layers.*.mlp", false},
      {"layer_12.norm", "", "layer_*.norm", true},
      {"layer_.norm", "", "layer_*.norm", true},
      {"layer.norm", "", "layer_*.norm", false},
      {"norm", "", "*", true},
      {"a.norm", "", "*", false},
      {"", "", "norm", false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(PathMatches(c.path, c.root, {c.pattern}), c.matches) << c.path << " " << c.pattern;
  }
  EXPECT_TRUE(PathMatches("b", "", {"a", "b"}));
  EXPECT_FALSE(PathMatches("b", "", {}));
}

std::vector<std::string> Names(const Plan& plan, std::string_view class_name) {
  std::vector<std::string> names;
  for (const Answer& answer : AnswersFor(plan, class_name)) {
    names.push_back(answer.entry->name + (answer.hinted ? "?" : ""));
  }
  return names;
}

TEST(AnswersFor, ConfigFirstThenLongest) {
  Plan plan;
  for (const char* name :
       {"GeGLUMLP", "LlamaRMSNorm", "Norm", "RMSNorm", "SwiGLUMLP", "rotary_pos_emb"}) {
    plan.entries.emplace_back();
    plan.entries.back().name = name;
  }
  using List = std::vector<std::string>;
  EXPECT_EQ(Names(plan, "LlamaRMSNorm"), (List{"LlamaRMSNorm", "RMSNorm", "Norm"}));
  EXPECT_EQ(Names(plan, "Qwen2_5_VLRMSNorm"), (List{"RMSNorm", "Norm"}));
  EXPECT_EQ(Names(plan, "rmsnorm"), List{});
  EXPECT_EQ(Names(plan, "rotary_pos_emb"), List{});
  plan.entries[2].from_config = true;
  EXPECT_EQ(Names(plan, "LlamaRMSNorm"), (List{"Norm", "LlamaRMSNorm", "RMSNorm"}));
  plan.extra_classes = {{"RMSNorm", "MyOwn"}};
  EXPECT_EQ(Names(plan, "MyOwn"), List{"RMSNorm"});
}

TEST(DefaultMapping, HasNoMistakes) {
  for (const std::string_view text : {DefaultMappingText(), TransformersMappingText()}) {
    const Loaded loaded = LoadConfigText("mapping.toml", std::string(text));
    for (const Diagnostic& diagnostic : loaded.diagnostics) {
      // A mapping of ours makes nobody trusted, so it may name those who are not.
      EXPECT_EQ(diagnostic.kind->name, "UntrustedPublisher") << diagnostic.message;
    }
    ASSERT_TRUE(loaded.config);
    EXPECT_FALSE(loaded.config->mappings.empty());
  }
}

TEST(Examples, HaveNoMistakes) {
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(KM_EXAMPLES)) {
    const std::string extension = file.path().extension().string();
    if (extension != ".toml" && extension != ".json") continue;
    std::string error;
    const std::optional<Loaded> loaded = LoadConfig(file.path().string(), &error);
    ASSERT_TRUE(loaded) << error;
    EXPECT_EQ(loaded->errors, 0u) << DiagnosticsToText(loaded->diagnostics, false);
    ++count;
  }
  EXPECT_GT(count, 5);
}

}  // namespace
}  // namespace kernelmap
