// The small languages, as tables: text in, value or the span of the mistake out.
#include "compiler/languages.h"

#include <gtest/gtest.h>

#include <memory>

namespace kernelmap {
namespace {

struct Parsed {
  std::shared_ptr<const Source> source;
  std::unique_ptr<Diagnostics> diagnostics;

  explicit Parsed(const std::string& text)
      : source(std::make_shared<Source>("text", text)),
        diagnostics(std::make_unique<Diagnostics>(source)) {}
  SubText text() const { return SubText::OfSource(*source); }
  // "KM0302@4-5" for each mistake.
  std::string Mistakes() const {
    std::string text;
    for (const Diagnostic& diagnostic : diagnostics->list()) {
      if (!text.empty()) text += " ";
      text += std::string(diagnostic.kind->code) + "@" + std::to_string(diagnostic.span.begin) +
              "-" + std::to_string(diagnostic.span.end);
    }
    return text;
  }
};

TEST(KernelRef, Table) {
  struct Case {
    const char *text, *expected;  // "kind repo revision name", or the mistakes
  };
  const Case cases[] = {
      {"org/repo", "hub org/repo - "},
      {"org/repo:Name", "hub org/repo - Name"},
      {"org/repo@v2:Name", "hub org/repo v2 Name"},
      {"org/re.po-1@feature/x@y:Name", "hub org/re.po-1 feature/x@y Name"},
      {"org/repo@>=2.0,<3.0:Name", "hub org/repo >=2.0,<3.0 Name"},
      {"org/repo@>=2.0,:Name", "hub org/repo >=2.0, Name"},
      {"org/repo@==2.*", "hub org/repo ==2.* "},
      {"org/builtin:Name", "hub org/builtin - Name"},
      {"builtin:rms_norm", "builtin  - rms_norm"},
      {"/abs/path:Name", "local /abs/path - Name"},
      {"/abs/path", "local /abs/path - "},
      {"/a:b/c@d:e:Name", "local /a:b/c@d:e - Name"},
      {"/a:b/c", "local /a:b/c - "},
      {"", "KM0302@0-0"},
      {"org", "KM0302@3-3"},
      {"org/", "KM0302@4-4"},
      {"org/repo/more:Name", "KM0302@8-9"},
      {"org/repo:", "KM0302@9-9"},
      {"org/repo@:Name", "KM0302@9-10"},
      {"org/repo:Na me", "KM0302@11-12"},
      {"org/repo:1Name", "KM0304@9-14"},
      {"-org/repo..x:Name", "KM0303@0-4 KM0303@5-12"},
      {"org/repo@v1..2:Name", "KM0306@9-14"},
      {"org/repo@~1:Name", "KM0307@9-10"},
      {"org/repo@>=x:Name", "KM0308@11-12"},
      {"org/repo@~=2:Name", "KM0308@11-12"},
      {"builtin:", "KM0302@8-8"},
      {"builtin:a:b", "KM0302@9-10"},
      {"/", "KM0302@1-1"},
      {"/a/b:", "KM0302@5-5"},
  };
  for (const Case& c : cases) {
    Parsed parsed(c.text);
    const auto ref = ParseKernelRef(parsed.text(), parsed.diagnostics.get());
    std::string found = parsed.Mistakes();
    EXPECT_EQ(ref.has_value(), found.empty()) << c.text;
    if (ref) {
      const char* kinds[] = {"hub ", "local ", "builtin "};
      found = kinds[static_cast<int>(ref->kind)] + ref->repo + " " +
              (ref->revision ? ref->revision->text : "-") + " " + ref->name;
    }
    EXPECT_EQ(found, c.expected) << c.text;
  }
}

TEST(DeviceSelector, Table) {
  struct Case {
    const char *text, *expected;
  };
  const Case cases[] = {
      {"cuda", "cuda"},
      {"metal", "mps"},
      {"cuda>=8.0,<9.0", "cuda>=8.0,<=8.9"},
      {"cuda > 8.9 , <= 9.0", "cuda==9.0"},
      {"cuda==9.0", "cuda==9.0"},
      {"cuda<10.0", "cuda<=9.9"},
      {"cuda>=sm_90", "cuda>=9.0"},
      {"cuda>=100", "cuda>=10.0"},
      {"cuda>=75,>=80", "cuda>=8.0"},
      {"rocm>=9.4", "rocm>=9.4"},
      {"rocm==gfx942", "rocm==9.4"},
      {"rocm==gfx1100", "rocm==11.0"},
      {"gpu", "KM0311@0-3"},
      {"cuda>=9", "KM0314@6-7"},
      {"cuda>=49", "KM0314@6-8"},
      {"cuda>=12.10", "KM0314@6-11"},
      {"cuda>=9.0.1", "KM0314@6-11"},
      {"cuda>=99999999999", "KM0314@6-17"},
      {"cuda>=gfx942", "KM0314@6-12"},
      {"rocm>=sm_90", "KM0314@6-11"},
      {"cuda!=9.0", "KM0313@4-6"},
      {"cuda=9.0", "KM0313@4-5"},
      {"mps>=3.0", "KM0312@3-8"},
      {"cuda>=9.0,<8.0", "KM0315@0-14"},
      {"cuda>999.9", "KM0315@0-10"},
      {"cuda<0.0", "KM0315@0-8"},
      {"cuda>=", "KM0310@6-6"},
      {"cuda>=8.0,", "KM0310@10-10"},
      {"cuda 9.0", "KM0310@5-8"},
      {"", "KM0310@0-0"},
  };
  for (const Case& c : cases) {
    Parsed parsed(c.text);
    const auto selector = ParseDeviceSelector(parsed.text(), parsed.diagnostics.get());
    EXPECT_EQ(selector ? selector->Text() : parsed.Mistakes(), c.expected) << c.text;
  }
}

TEST(Mode, Table) {
  struct Case {
    const char *text, *expected;
  };
  const Case cases[] = {
      {"inference", "inference"},
      {"torch_compile|training", "training|torch_compile"},
      {"torch_compile", "torch_compile"},
      {"fallback", "fallback"},
      {"inference | torch_compile", "inference|torch_compile"},
      {"inference|training", "KM0318@0-18"},
      {"fallback|torch_compile", "KM0318@0-22"},
      {"training|training", "KM0319@9-17"},
      {"INFERENCE", "KM0317@0-9"},
      {"inference|", "KM0316@10-10"},
      {"|", "KM0316@0-1"},
      {"", "KM0316@0-0"},
  };
  for (const Case& c : cases) {
    Parsed parsed(c.text);
    const auto mode = ParseMode(parsed.text(), parsed.diagnostics.get());
    EXPECT_EQ(mode ? mode->Text() : parsed.Mistakes(), c.expected) << c.text;
  }
}

TEST(PathPattern, Table) {
  struct Case {
    const char *text, *expected;
  };
  const Case cases[] = {
      {"mlp", ""},          {"layers.*.mlp", ""},     {"layer_*.norm", ""},  {"*", ""},
      {"**", "KM0321@0-2"}, {"a.**.b", "KM0321@2-4"}, {"a*b", "KM0320@2-3"}, {"a..b", "KM0320@2-3"},
      {".a", "KM0320@0-1"}, {"a.", "KM0320@2-2"},     {"", "KM0320@0-0"},
  };
  for (const Case& c : cases) {
    Parsed parsed(c.text);
    EXPECT_EQ(ParsePathPattern(parsed.text(), parsed.diagnostics.get()), !*c.expected) << c.text;
    EXPECT_EQ(parsed.Mistakes(), c.expected) << c.text;
  }
}

TEST(SmallLanguages, LongTextIsRefused) {
  const std::string text(kMaxText + 1, 'a');
  Parsed parsed(text);
  EXPECT_FALSE(ParseKernelRef(parsed.text(), parsed.diagnostics.get()));
  EXPECT_FALSE(ParseMode(parsed.text(), parsed.diagnostics.get()));
  EXPECT_FALSE(ParsePathPattern(parsed.text(), parsed.diagnostics.get()));
  EXPECT_EQ(parsed.diagnostics->errors(), 3u);
}

TEST(SmallLanguages, PlacesCountBytesWhateverTheCharacters) {
  Parsed parsed("org/réposé:N");
  EXPECT_FALSE(ParseKernelRef(parsed.text(), parsed.diagnostics.get()));
  EXPECT_EQ(parsed.Mistakes(), "KM0302@5-7");
}

}  // namespace
}  // namespace kernelmap
