#include "compiler/layout.h"

#include <gtest/gtest.h>

namespace kernelmap {
namespace {

// The tree in one form, or the code, the underlined text and the message.
std::string Parsed(const std::string& text) {
  Diagnostics diagnostics(std::make_shared<Source>("layout", text));
  const SubText sub = SubText::OfSource(*diagnostics.source());
  if (const std::optional<Layout> layout = ParseLayout(sub, &diagnostics)) {
    EXPECT_EQ(diagnostics.errors(), 0u) << text;
    return layout->Text();
  }
  EXPECT_EQ(diagnostics.errors(), 1u) << text;
  const Diagnostic& error = diagnostics.list().front();
  return std::string(error.kind->name) + " at `" + std::string(error.source->Slice(error.span)) +
         "`";
}

TEST(Layout, Table) {
  const std::pair<const char*, const char*> cases[] = {
      {"norm.weight", "norm.weight"},
      {" w + 1 ", "(w + 1)"},
      {"1 - w", "(1 - w)"},
      {"a - b - c", "((a - b) - c)"},
      {"a + b * 2", "(a + (b * 2))"},
      {"(a + b) / 2.5", "((a + b) / 2.5)"},
      {"w * -1", "(w * -1)"},
      {"layers.0.w", "layers.0.w"},
      {"w + 100000000000000", "(w + 100000000000000)"},
      {"w + 0.0000000000001", "(w + 0.0000000000001)"},
      {"w + 1000000000000000", "BadLayout at `1000000000000000`"},
      {"concat(a, b, dim=0)", "concat(a, b, dim=0)"},
      {"concat(a, b, c)", "concat(a, b, c, dim=0)"},
      {"concat(a + 1, transpose(b, 0, 1), dim = -1)",
       "concat((a + 1), transpose(b, 0, 1), dim=-1)"},
      {"chunk(w, 2, dim=0)[1]", "chunk(w, 2, dim=0)[1]"},
      {"chunk(w, 2)[0]", "chunk(w, 2, dim=0)[0]"},
      {"", "BadLayout at ``"},
      {"w +", "BadLayout at ``"},
      {"w + + 1", "BadLayout at `+`"},
      {"concat(a, b", "BadLayout at ``"},
      {"w[0]", "BadLayout at `[`"},
      {"w; w", "BadLayout at `;`"},
      {"1", "LayoutWithoutParameter at `1`"},
      {"w * (1 + 2)", "LayoutWithoutParameter at `1 + 2`"},
      {"stack(a, b)", "UnknownLayoutFunction at `stack`"},
      {"concat(a)", "BadLayoutCall at `concat(a)`"},
      {"concat(a, b, 1)", "BadLayoutCall at `concat(a, b, 1)`"},
      {"concat(a, b, axis=0)", "BadLayoutCall at `concat(a, b, axis=0)`"},
      {"concat(a, dim=0, b)", "BadLayoutCall at `concat(a, dim=0, b)`"},
      {"concat(a, b, dim=0, dim=1)", "BadLayoutCall at `concat(a, b, dim=0, dim=1)`"},
      {"chunk(w, 2)", "BadLayoutCall at `chunk(w, 2)`"},
      {"chunk(w, 2)[2]", "BadLayoutCall at `chunk(w, 2)[2]`"},
      {"chunk(w, 0)[0]", "BadLayoutCall at `chunk(w, 0)[0]`"},
      {"chunk(w, 1.5)[0]", "BadLayoutCall at `chunk(w, 1.5)[0]`"},
      {"transpose(w, 0)", "BadLayoutCall at `transpose(w, 0)`"},
      {"transpose(w, 0, 1)[0]", "BadLayoutCall at `transpose(w, 0, 1)[0]`"},
      {"concat(a, b)[0]", "BadLayoutCall at `concat(a, b)[0]`"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(Parsed(text), expected) << text;
}

TEST(Layout, Parameters) {
  Diagnostics diagnostics(std::make_shared<Source>("layout", "concat(b.w, a.w, b.w + a.w)"));
  const auto layout = ParseLayout(SubText::OfSource(*diagnostics.source()), &diagnostics);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->Parameters(), (std::vector<std::string>{"b.w", "a.w"}));
}

TEST(Layout, DeepTextIsAnErrorOrATree) {
  EXPECT_EQ(Parsed(std::string(16, '(') + "w" + std::string(16, ')')), "w");
  EXPECT_EQ(Parsed(std::string(17, '(') + "w" + std::string(17, ')')), "TooDeep at `(`");
  EXPECT_EQ(Parsed(std::string(1000, '(')), "TooDeep at `(`");
  EXPECT_EQ(Parsed(std::string(2000, 'w')), "TextTooLong at `" + std::string(2000, 'w') + "`");
}

}  // namespace
}  // namespace kernelmap
