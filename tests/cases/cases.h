// Runs the cases of a file of recorded answers.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace kernelmap {

/// What is wrong with the answer to one case; empty when nothing is.
using RunCase = std::function<std::string(const nlohmann::json& item)>;

/// Runs every item of the lists `keys` of the file that the arguments name, or of the file of that
/// name in the folder KM_CASES_DIR. Prints the failures. Returns an exit code: 0 only where each
/// list is there, the first has items, and all answers are right.
int RunCases(int argc, char** argv, const std::vector<std::pair<std::string, RunCase>>& keys);

}  // namespace kernelmap
