// What is recognised without ANTLR is what ANTLR makes of it.
#include "compiler/quick_parse.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace kernelmap {
namespace {

// The pieces that languages.cpp reads, as text.
std::string Pieces(const ParseResult& result, bool pattern) {
  static const std::vector<std::string> kRead = {"owner",  "repo", "revision",
                                                 "symbol", "path", "barePath"};
  std::string text;
  if (pattern) return text;  // of a pattern only that it is one
  for (const Piece& piece : result.pieces) {
    if (std::find(kRead.begin(), kRead.end(), piece.rule) == kRead.end()) continue;
    text += piece.rule + " " + std::to_string(piece.begin) + "-" + std::to_string(piece.end) + "; ";
  }
  return text;
}

// Whether the text was recognised; where it was, ANTLR has to agree.
bool Agrees(Rule rule, const std::string& text) {
  const std::optional<ParseResult> quick = QuickParse(rule, text);
  if (!quick) return false;
  EXPECT_TRUE(quick->errors.empty());
  const ParseResult slow = RunAntlr(rule, text);
  EXPECT_TRUE(slow.errors.empty()) << text;
  EXPECT_EQ(Pieces(*quick, rule == Rule::kPattern), Pieces(slow, rule == Rule::kPattern)) << text;
  return true;
}

TEST(QuickParse, CommonFormsAreRecognised) {
  EXPECT_TRUE(Agrees(Rule::kHubRef, "org/repo"));
  EXPECT_TRUE(Agrees(Rule::kHubRef, "org/repo:Name"));
  EXPECT_TRUE(Agrees(Rule::kHubRef, "org/re.po-1@v2:Name"));
  EXPECT_TRUE(Agrees(Rule::kHubRef, "org/repo@>=2.0,<3.0:Name"));
  EXPECT_TRUE(Agrees(Rule::kHubRef, "org/repo@feature/x@é"));
  EXPECT_TRUE(Agrees(Rule::kBuiltinRef, "builtin:rms_norm"));
  EXPECT_TRUE(Agrees(Rule::kLocalRef, "/abs/path:Name"));
  EXPECT_TRUE(Agrees(Rule::kLocalRef, "/a:b/c@d:e:Name"));
  EXPECT_TRUE(Agrees(Rule::kLocalRef, "/a:b//c é"));
  EXPECT_TRUE(Agrees(Rule::kSelector, "cuda"));
  EXPECT_TRUE(Agrees(Rule::kSelector, "cuda>=8.0,<9.0"));
  EXPECT_TRUE(Agrees(Rule::kSelector, "rocm==gfx942,!=sm_90,=75"));
  EXPECT_TRUE(Agrees(Rule::kMode, "inference|torch_compile"));
  EXPECT_TRUE(Agrees(Rule::kSpecifiers, ">=2.0,<3.0"));
  EXPECT_TRUE(Agrees(Rule::kSpecifiers, "===x,,~=1!2.0rc1+a-b,==2.*,"));
  EXPECT_TRUE(Agrees(Rule::kPattern, "layers.*.mlp"));
  EXPECT_TRUE(Agrees(Rule::kPattern, "*.layer_*.é"));
}

TEST(QuickParse, MistakesAreLeftToAntlr) {
  EXPECT_FALSE(QuickParse(Rule::kHubRef, ""));
  EXPECT_FALSE(QuickParse(Rule::kHubRef, "org"));
  EXPECT_FALSE(QuickParse(Rule::kHubRef, "org/"));
  EXPECT_FALSE(QuickParse(Rule::kHubRef, "org/repo@:Name"));
  EXPECT_FALSE(QuickParse(Rule::kHubRef, "org/repo/more:Name"));
  EXPECT_FALSE(QuickParse(Rule::kHubRef, "org/repo:Name:Name"));
  EXPECT_FALSE(QuickParse(Rule::kBuiltinRef, "builtin:"));
  EXPECT_FALSE(QuickParse(Rule::kBuiltinRef, "builtin:a:b"));
  EXPECT_FALSE(QuickParse(Rule::kLocalRef, "/a/b:"));
  EXPECT_FALSE(QuickParse(Rule::kLocalRef, "/"));
  for (const char* text : {"", "9cuda", "cuda>", "cuda>=", "cuda>=8.0,", "cuda>=8.", "cuda>=8.0x",
                           "cuda<==8.0", "cuda>=8.0<9.0", "cuda,>=8.0"}) {
    EXPECT_FALSE(QuickParse(Rule::kSelector, text)) << text;
  }
  for (const char* text : {"", "|", "a|", "|a", "a||b", "a-b"}) {
    EXPECT_FALSE(QuickParse(Rule::kMode, text)) << text;
  }
  for (const char* text : {"", ",", "1.0", ">", ">=", ",>=1", "=1", ">=1>=2", "==1!=2", ">=.1"}) {
    EXPECT_FALSE(QuickParse(Rule::kSpecifiers, text)) << text;
  }
  EXPECT_FALSE(QuickParse(Rule::kPattern, ""));
  EXPECT_FALSE(QuickParse(Rule::kPattern, "a..b"));
  EXPECT_FALSE(QuickParse(Rule::kPattern, "a*b"));
  EXPECT_FALSE(QuickParse(Rule::kPattern, "**"));
}

TEST(QuickParse, AgreesOnEverything) {
  static const char* const kPieces[] = {
      "a", "b-1", ".", "_",  "/", ":", "@", ">=1.0", ",",  "*",        " ",         "é",
      "!", "=",   ">", "<=", "|", "9", "~", "cuda",  "\n", "org/repo", "/abs/path", ""};
  std::mt19937 random(3);
  int recognised = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text;
    for (size_t i = 0, count = random() % 9; i < count; ++i) {
      text += kPieces[random() % std::size(kPieces)];
    }
    for (const Rule rule : {Rule::kHubRef, Rule::kBuiltinRef, Rule::kSpecifiers, Rule::kSelector,
                            Rule::kMode, Rule::kPattern}) {
      recognised += Agrees(rule, text);
    }
    recognised += Agrees(Rule::kLocalRef, "/" + text) + Agrees(Rule::kSelector, "cuda>=" + text) +
                  Agrees(Rule::kSpecifiers, ">=" + text);
  }
  EXPECT_GT(recognised, 2000);
}

}  // namespace
}  // namespace kernelmap
