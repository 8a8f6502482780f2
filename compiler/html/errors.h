// How far apart the outputs of sites were, from what `kernelmap verify --format json` wrote.
#pragma once

#include <optional>

#include "compiler/document.h"
#include "compiler/html/sites.h"

namespace kernelmap {

/// Of the sites that were compared. Nothing where there are errors.
std::optional<SiteErrors> ReadSiteErrors(const Node& root, Diagnostics* diagnostics);

}  // namespace kernelmap
