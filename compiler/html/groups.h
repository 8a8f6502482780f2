// Sites that differ by nothing but numbers in their paths, as one; and why sites were left.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/report.h"

namespace kernelmap {

struct SiteGroup {
  std::string shape;  // of the paths
  std::vector<const Site*> sites;
  const Site& First() const { return *sites.front(); }
};

/// In the order of their first sites. The groups point into `sites`.
std::vector<SiteGroup> GroupSites(const std::vector<Site>& sites);

/// Why sites of one name and class are fallbacks.
struct Cause {
  std::vector<size_t> groups;  // indexes into the groups
  size_t sites = 0;
  size_t of_name = 0;  // how many sites the name has in all
  const Site* first = nullptr;
};

/// Of fallbacks only; those with the most sites first.
std::vector<Cause> CausesOf(const std::vector<SiteGroup>& groups);

/// A difference as its two sides; both "" where the text is not of the form that has them.
struct TwoSides {
  std::string reference, model;
};
TwoSides SidesOf(const std::string& difference);

/// A layer of the catalogue that is known by this class, other than `name`; "" where there is none.
std::string LayerOfClass(const std::string& class_name, const std::string& name);

}  // namespace kernelmap
