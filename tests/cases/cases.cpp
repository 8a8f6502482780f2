#include "tests/cases/cases.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace kernelmap {

int RunCases(int argc, char** argv, const std::vector<std::pair<std::string, RunCase>>& keys) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s CASES.json\n", argv[0]), 2;
  std::filesystem::path file = argv[1];
  const char* folder = std::getenv("KM_CASES_DIR");
  if (folder && *folder) file = folder / file.filename();
  std::ifstream stream(file);
  const nlohmann::json root = nlohmann::json::parse(stream, nullptr, false);
  if (!root.is_object()) {
    return std::fprintf(stderr, "%s: cannot be read\n", file.c_str()), 1;
  }
  size_t failures = 0;
  bool first = true;
  for (const auto& [key, run] : keys) {
    const nlohmann::json list = root.value(key, nlohmann::json());
    if (!list.is_array() || (first && list.empty())) {
      std::fprintf(stderr, "%s: no %s\n", file.c_str(), key.c_str());
      ++failures;
    }
    first = false;
    for (const nlohmann::json& item : list) {
      std::string problem;
      try {
        problem = run(item);
      } catch (const nlohmann::json::exception& error) {
        problem = error.what();
      }
      if (problem.empty()) continue;
      ++failures;
      std::printf("%s: %s\n", problem.c_str(), item.dump().c_str());
    }
    std::printf("%s: %zu run\n", key.c_str(), list.size());
  }
  std::printf("%zu failures\n", failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace kernelmap
