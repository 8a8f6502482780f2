// The plan and report that a rewritten archive carries.
#pragma once

#include <string>
#include <string_view>

namespace kernelmap {

/// Whether two plans (kernelmap-plan/1) would do the same: all but provenance is equal (positions,
/// hashes, file names, explanatory text). False when either is not JSON.
bool SamePlan(std::string_view a, std::string_view b);

/// The sha256 of the model that a report (kernelmap-report/1) was made for; empty when it says
/// none.
std::string OriginalModel(std::string_view report);

}  // namespace kernelmap
