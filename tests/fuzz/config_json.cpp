// A whole config in JSON.
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kernelmap::fuzz::CheckConfigText("config.json", kernelmap::fuzz::Text(data, size));
  return 0;
}
