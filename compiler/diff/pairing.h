// Which name of one side is which of the other, and which site.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/diff/side.h"

namespace kernelmap {

/// Indices into the old and into the new list; one of the two may be missing.
using Pairing = std::vector<std::pair<std::optional<size_t>, std::optional<size_t>>>;

/// By name; of several fusions with one name by their modules too. Sorted by name.
Pairing PairEntries(const std::vector<PlanEntry>& before, const std::vector<PlanEntry>& after);

/// By path, name and index; of several fusions of one parent by their members. A module that
/// answers to another name than before, and is one site on either side, is a pair too. In the
/// order of `after`, then what only `before` has.
Pairing PairSites(const std::vector<Site>& before, const std::vector<Site>& after);

/// What sites show of the entries of their names: the kernel, or why there is none. A name is not
/// among them where every site was left for a reason that is found in the model.
std::map<std::string, PlanEntry> NamesOfSites(const std::vector<Site>& sites);

}  // namespace kernelmap
