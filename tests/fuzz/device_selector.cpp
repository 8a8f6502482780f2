// A device selector: its normal form means the same.
#include "tests/fuzz/fuzz.h"

using namespace kernelmap;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::Text(data, size);
  if (!fuzz::CanBeInConfig(text)) return 0;
  fuzz::Language language(text);
  const auto selector = ParseDeviceSelector(language.text(), language.diagnostics());
  if (!language.Check(selector.has_value())) return 0;
  fuzz::Require(
      ClassifyKey(text) == KeyKind::kDevice || text.front() == ' ' || text.front() == '\t',
      "a selector that is no device's key");
  fuzz::Language normal(selector->Text());
  const auto again = ParseDeviceSelector(normal.text(), normal.diagnostics());
  fuzz::Require(normal.Check(again.has_value()), "a normal form that is none");
  fuzz::Require(again->device == selector->device && again->interval == selector->interval,
                "a normal form that means something else");
  return 0;
}
