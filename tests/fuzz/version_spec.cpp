// What stands after the @ of a reference.
#include "tests/fuzz/fuzz.h"

using namespace kernelmap;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::Text(data, size);
  if (!fuzz::CanBeInConfig(text)) return 0;
  fuzz::Language language(text);
  const auto revision = ParseRevision(language.text(), language.diagnostics());
  if (!language.Check(revision.has_value())) return 0;
  for (const Comparison& comparison : revision->comparisons) {
    fuzz::Require(text.find(comparison.op) != std::string_view::npos, "another comparison");
    fuzz::Require(text.find(comparison.version) != std::string_view::npos, "another version");
  }
  return 0;
}
