// One name, function or fusion of a config, resolved for one target: the five steps of choosing.
#pragma once

#include <string>
#include <vector>

#include "compiler/compile.h"

namespace kernelmap {

struct EntryRequest {
  std::string name;
  const Mapping* own = nullptr;           // the config's; null where it does not map the name
  std::vector<const Mapping*> inherited;  // a later one lies over the earlier
  std::vector<FusionModule> modules;      // of a fusion
  const Config* config = nullptr;         // null: the default mapping alone
  const Target& target;
  const Environment& environment;
  const Store& store;
};

PlanEntry ResolveEntry(const EntryRequest& request);

}  // namespace kernelmap
