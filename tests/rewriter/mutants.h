// Models changed by one operation, at random, to try the matcher with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kernelmap {

struct MutantRun {
  std::uint64_t seed = 1;
  int count = 300;
  bool check = true;     // false: sabotage, the check is off
  bool fusions = false;  // those of plan_for_fusions.h too
  bool verbose = false;
  std::vector<std::string> models;
};

struct MutantResult {
  int ran = 0;
  int changed = 0;  // of these, mutants whose output differs from the model's
  int raised = 0;   // mutants that raise for some input
  int sites = 0;    // sites accepted in all of them
  int touched = 0;  // mutants with an accepted site in the module that was changed
  int wrong = 0;    // rewritten ones that differ from the mutant, bit for bit
};

/// Prints each wrong one, with the seed that makes it again.
MutantResult RunMutants(const MutantRun& run);

}  // namespace kernelmap
