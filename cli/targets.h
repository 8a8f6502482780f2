// The targets of commands that are for several.
#pragma once

#include <optional>
#include <vector>

#include "cli/args.h"
#include "compiler/compile.h"

namespace kernelmap {

/// The targets that the command line names, sorted, or the one that the config or this machine
/// means. Nothing, and diagnostics, where one is wrong.
std::optional<std::vector<Target>> TargetsOf(const Args& args, const Config& config,
                                             std::vector<Diagnostic>* diagnostics);

}  // namespace kernelmap
