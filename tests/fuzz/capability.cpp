// The capability of a device.
#include "tests/fuzz/fuzz.h"

using namespace kernelmap;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::Text(data, size);
  if (!fuzz::CanBeInConfig(text)) return 0;
  for (const char* device : {"cuda", "rocm"}) {
    fuzz::Language language(text);
    const auto capability = ParseCapability(language.text(), device, language.diagnostics());
    if (!language.Check(capability.has_value())) continue;
    fuzz::Require(capability->major >= 0 && capability->major <= 999, "a major version");
    fuzz::Require(capability->minor >= 0 && capability->minor <= 9, "a minor version");
  }
  return 0;
}
