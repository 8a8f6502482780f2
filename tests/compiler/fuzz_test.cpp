// Configs damaged at random: nothing may crash, hang or be accepted and then fail. The same
// sequence of random numbers every time.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "compiler/catalogue.h"
#include "compiler/compile.h"

namespace kernelmap {
namespace {

std::vector<std::string> Seeds() {
  std::vector<std::filesystem::path> paths;
  for (const auto& file : std::filesystem::directory_iterator(KM_EXAMPLES)) {
    const std::string extension = file.path().extension().string();
    if (extension == ".toml" || extension == ".json") paths.push_back(file.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> seeds;
  for (const std::filesystem::path& path : paths) {
    std::string error;
    seeds.push_back(ReadFile(path.string(), kMaxFileBytes, &error).value_or(""));
  }
  return seeds;
}

class Damage {
 public:
  explicit Damage(unsigned seed) : random_(seed) {}

  std::string operator()(std::string text, const std::vector<std::string>& others) {
    static const char* const kPieces[] = {"\"",
                                          "'",
                                          "\"\"\"",
                                          "{",
                                          "}",
                                          "[",
                                          "]",
                                          "=",
                                          ",",
                                          ".",
                                          ":",
                                          "@",
                                          "|",
                                          ">=",
                                          "**",
                                          "\\u",
                                          "\n",
                                          "\r",
                                          "\t",
                                          "\xEF\xBB\xBF",
                                          "\xF0\x9F\x98\x80",
                                          "\xFF",
                                          "\xE2\x80\xAE",
                                          "\x1b[2J",
                                          "cuda>=9",
                                          "fallback",
                                          "any",
                                          "kernel",
                                          "-9223372036854775808",
                                          "1e999",
                                          "null",
                                          "\"\""};
    for (size_t i = 0, count = 1 + Below(4); i < count; ++i) {
      const size_t at = Below(text.size() + 1);
      switch (Below(5)) {
        case 0:
          text.insert(at, kPieces[Below(std::size(kPieces))]);
          break;
        case 1:
          text.erase(at, 1 + Below(8));
          break;
        case 2:
          if (at < text.size()) text[at] = static_cast<char>(Below(256));
          break;
        case 3:
          text.insert(at, text.substr(Below(text.size() + 1), 1 + Below(40)));
          break;
        default: {
          const std::string& other = others[Below(others.size())];
          text.insert(at, other.substr(Below(other.size() + 1), 1 + Below(80)));
        }
      }
    }
    return text;
  }

 private:
  size_t Below(size_t bound) { return random_() % bound; }
  std::mt19937 random_;
};

TEST(Fuzz, DamagedConfigs) {
  const std::vector<std::string> seeds = Seeds();
  ASSERT_FALSE(seeds.empty());
  Damage damage(20240);
  int fine = 0, wrong = 0;
  for (int round = 0; round < 400; ++round) {
    for (const std::string& seed : seeds) {
      const std::string text = damage(seed, seeds);
      const Loaded loaded = LoadConfigText(round % 8 ? "<text>" : "config.json", text);
      EXPECT_EQ(loaded.errors == 0, loaded.config.has_value() && loaded.errors == 0);
      EXPECT_FALSE(DiagnosticsToJson(loaded.diagnostics).empty());
      const std::string shown = DiagnosticsToText(loaded.diagnostics, false);
      EXPECT_EQ(shown.find('\x1b'), std::string::npos);
      EXPECT_EQ(ValidUtf8Prefix(shown), shown.size());
      if (loaded.errors > 0) {
        ++wrong;
        EXPECT_FALSE(shown.empty());
        continue;
      }
      ++fine;
      Target target;
      target.device = "cuda";
      target.capability = Capability{9, 0};
      const Plan plan = Resolve(&*loaded.config, target, Environment{});
      for (const PlanEntry& entry : plan.entries) {
        EXPECT_EQ(entry.decision == Decision::kKernel, entry.kernel.has_value());
        EXPECT_EQ(entry.decision == Decision::kKernel, !entry.reason.has_value());
      }
      EXPECT_FALSE(PlanToJson(plan).empty());
    }
  }
  EXPECT_GT(fine, 100);
  EXPECT_GT(wrong, 100);
}

}  // namespace
}  // namespace kernelmap
