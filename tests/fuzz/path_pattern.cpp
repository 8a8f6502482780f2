// A path pattern, and whether it matches: the pattern itself as a path, stars filled in, does.
#include "compiler/plan.h"
#include "compiler/quick_parse.h"
#include "tests/fuzz/fuzz.h"

using namespace kernelmap;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(fuzz::Text(data, size));
  if (!fuzz::CanBeInConfig(text)) return 0;
  fuzz::Language language(text);
  const bool parsed = ParsePathPattern(language.text(), language.diagnostics());
  if (text.size() <= kMaxText && QuickParse(Rule::kPattern, text)) {
    fuzz::Require(RunAntlr(Rule::kPattern, text).errors.empty(), "quicker than right");
  }
  if (!language.Check(parsed)) return 0;
  std::string path = text;
  for (char& c : path) {
    if (c == '*') c = 'x';
  }
  fuzz::Require(PathMatches(path, "", {text}), "a pattern that does not match");
  fuzz::Require(PathMatches("root." + path, "root", {text}), "a root that does not match");
  fuzz::Require(!PathMatches(path + ".more", "", {text}), "a pattern that matches too much");
  return 0;
}
