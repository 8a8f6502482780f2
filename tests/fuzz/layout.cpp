// A layout expression: what is read, written in its one form, reads as the same.
#include "compiler/layout.h"

#include "tests/fuzz/fuzz.h"

using namespace kernelmap;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(fuzz::Text(data, size));
  if (!fuzz::CanBeInConfig(text)) return 0;
  fuzz::Language language(text);
  const std::optional<Layout> layout = ParseLayout(language.text(), language.diagnostics());
  if (!language.Check(layout.has_value())) return 0;
  fuzz::Require(!layout->Parameters().empty(), "a layout without parameters");
  const std::string form = layout->Text();
  if (form.size() > kMaxText) return 0;
  fuzz::Language again(form);
  const std::optional<Layout> same = ParseLayout(again.text(), again.diagnostics());
  if (!same && again.diagnostics()->list().front().kind->name == Diag::TooDeep.name) return 0;
  fuzz::Require(same && same->Text() == form, "a form that reads as something else");
  return 0;
}
