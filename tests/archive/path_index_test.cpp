// The index of paths against matching one path with one pattern, and its speed.
#include "compiler/archive/path_index.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "compiler/archive/check_model.h"
#include "compiler/compile.h"
#include "compiler/path_pattern.h"

namespace kernelmap {
namespace {

// A tree of the paths and all that is above them, parents first.
ModuleTree TreeOf(const std::vector<std::string>& paths) {
  std::vector<std::string> all = {""};
  for (const std::string& path : paths) {
    for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
      all.push_back(path.substr(0, dot));
    }
    all.push_back(path);
  }
  ModuleTree tree;
  std::vector<std::string> seen;
  for (const std::string& path : all) {
    if (std::find(seen.begin(), seen.end(), path) != seen.end()) continue;
    seen.push_back(path);
    tree.modules.emplace_back().path = path;
  }
  return tree;
}

TEST(PathIndex, AgreesWithPathMatches) {
  std::mt19937 random(1);
  const std::vector<std::string> names = {"a", "b", "ab", "layer_1", "layer_2", "0", "1"};
  const std::vector<std::string> words = {"a", "b", "*", "a*", "layer_*", "0", "x"};
  const auto pick = [&](const std::vector<std::string>& from) {
    std::string text;
    for (size_t i = 0, count = 1 + random() % 4; i < count; ++i) {
      text += (i ? "." : "") + from[random() % from.size()];
    }
    return text;
  };
  int matched = 0;
  for (int round = 0; round < 50; ++round) {
    std::vector<std::string> paths;
    for (int i = 0; i < 30; ++i) paths.push_back(pick(names));
    const ModuleTree tree = TreeOf(paths);
    const PathIndex index(tree);
    const auto any = [&](const std::string& root, const std::string& pattern) {
      return std::any_of(tree.modules.begin(), tree.modules.end(), [&](const ArchiveModule& m) {
        return PathMatches(m.path, root, {pattern});
      });
    };
    for (int i = 0; i < 100; ++i) {
      const std::string pattern = pick(words);
      ASSERT_EQ(index.Matches(pattern), any("", pattern)) << pattern;
      matched += index.Matches(pattern);
      const std::optional<std::string> below = index.MatchesBelow(pattern);
      const bool somewhere =
          std::any_of(tree.modules.begin(), tree.modules.end(),
                      [&](const ArchiveModule& m) { return any(m.path, pattern); });
      ASSERT_EQ(below.has_value(), somewhere) << pattern;
      if (below) {
        ASSERT_TRUE(any(*below, pattern)) << *below << " " << pattern;
      }
    }
  }
  EXPECT_GT(matched, 500);
}

TEST(PathIndex, Miss) {
  const ModuleTree tree = TreeOf({"model.layers.0.mlp", "model.layers.1.norm", "head"});
  const PathIndex index(tree);
  const std::string pattern = "model.layers.*.mpl.x";
  const PathIndex::Miss miss = index.FirstMiss(pattern);
  EXPECT_EQ(pattern.substr(miss.begin, miss.end - miss.begin), "mpl");
  EXPECT_EQ(miss.names, (std::vector<std::string>{"mlp", "norm"}));
}

TEST(PathIndex, BelowAnOpaqueModuleAllIsPossible) {
  ModuleTree tree = TreeOf({"a.b"});
  tree.modules.back().opaque = true;
  const PathIndex index(tree);
  EXPECT_TRUE(index.Matches("a.b.anything.at.all"));
  EXPECT_FALSE(index.Matches("a.c"));
}

// No two modules alike, and patterns that look at all of them.
TEST(PathIndex, ManyModulesAndPatterns) {
  ModuleTree tree;
  tree.modules.emplace_back();
  for (int i = 0; i < 12500; ++i) {
    const std::string path = "m" + std::to_string(i);
    tree.modules.emplace_back().path = path;
    tree.modules.emplace_back().path = path + ".n" + std::to_string(i);
  }
  std::string text = "[kernel_mapping]\nX = { kernel = \"org/repo:X\", only = [";
  for (int i = 0; i < 1000; ++i) text += "\"m*.x" + std::to_string(i) + "\",";
  const Loaded loaded = LoadConfigText("config.toml", text + "] }\n");
  ASSERT_EQ(loaded.errors, 0u);
  Diagnostics diagnostics(loaded.config->source);
  const auto begin = std::chrono::steady_clock::now();
  CheckModel(*loaded.config, tree, "m.pt", &diagnostics);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(diagnostics.warnings(), 1001u);  // and no class answers to X
  EXPECT_LT(seconds.count(), 30);            // far more than it takes, on a busy machine too
  std::printf("%.2f s\n", seconds.count());
}

}  // namespace
}  // namespace kernelmap
