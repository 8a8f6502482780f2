// The policy file of a machine.
#include "tests/fuzz/fuzz.h"

using namespace kernelmap;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<Diagnostic> list;
  const auto policy = ReadPolicyText("policy.toml", std::string(fuzz::Text(data, size)), &list);
  fuzz::Require(policy.has_value() == list.empty(), "a policy beside errors, or neither");
  fuzz::CheckDiagnostics(list);
  return 0;
}
