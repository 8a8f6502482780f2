// A mode: its text means the same.
#include "tests/fuzz/fuzz.h"

using namespace kernelmap;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::Text(data, size);
  if (!fuzz::CanBeInConfig(text)) return 0;
  fuzz::Language language(text);
  const auto mode = ParseMode(language.text(), language.diagnostics());
  if (!language.Check(mode.has_value())) return 0;
  fuzz::Language normal(mode->Text());
  const auto again = ParseMode(normal.text(), normal.diagnostics());
  fuzz::Require(normal.Check(again.has_value()) && *again == *mode, "another mode");
  return 0;
}
