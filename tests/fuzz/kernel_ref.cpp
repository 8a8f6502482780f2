// A kernel reference, with its revision. What is parsed without ANTLR must be what ANTLR says.
#include "compiler/quick_parse.h"
#include "tests/fuzz/fuzz.h"

using namespace kernelmap;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::Text(data, size);
  if (!fuzz::CanBeInConfig(text)) return 0;
  fuzz::Language language(text);
  const auto ref = ParseKernelRef(language.text(), language.diagnostics());
  if (text.size() <= kMaxText) {
    const Rule rule = text.starts_with("builtin:") ? Rule::kBuiltinRef
                      : text.starts_with('/')      ? Rule::kLocalRef
                                                   : Rule::kHubRef;
    if (const auto quick = QuickParse(rule, text)) {
      const ParseResult slow = RunAntlr(rule, text);
      fuzz::Require(slow.errors.empty(), "quicker than right");
      for (const char* piece : {"owner", "repo", "revision", "symbol", "path", "barePath"}) {
        fuzz::Require(quick->Get(text, piece) == slow.Get(text, piece), "other pieces");
      }
    }
  }
  if (!language.Check(ref.has_value())) return 0;
  fuzz::Require(ref->text == text, "another text");
  if (ref->kind == KernelRef::Kind::kHub) {
    // Put together again it is the same.
    std::string again = ref->repo;
    if (ref->revision) again += "@" + ref->revision->text;
    if (!ref->name.empty()) again += ":" + ref->name;
    fuzz::Require(again == text, "a reference that falls apart");
    fuzz::Require(ref->Publisher() + "/" == ref->repo.substr(0, ref->Publisher().size() + 1),
                  "another publisher");
  }
  return 0;
}
