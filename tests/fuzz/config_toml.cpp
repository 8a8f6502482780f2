// A whole config in TOML.
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kernelmap::fuzz::CheckConfigText("config.toml", kernelmap::fuzz::Text(data, size));
  return 0;
}
