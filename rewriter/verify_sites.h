// What single sites of two archives give.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rewriter/verify.h"
#include "rewriter/verify_run.h"

namespace kernelmap::verify {

/// The replaced and fused sites of a report; none where it is no report.
std::vector<SiteDifference> ReadSites(const std::string& report);

/// Runs the stock archive once and OUT twice, watching the modules of the sites. Each module's
/// inputs are what came before it in its own archive. Keeps the outputs of all of them in memory.
void CompareSites(const Source& stock, const Source& out, const Inputs& inputs,
                  std::vector<SiteDifference>* sites);

/// The site with the largest relative error, the first of several; nothing: all are bit-exact.
std::optional<size_t> WorstSite(const std::vector<SiteDifference>& sites);

}  // namespace kernelmap::verify
