// The targets of commands that are for several.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/args.h"
#include "compiler/compile.h"

namespace kernelmap {

/// `flags` with what a word of --target says: a device, then capability and, where `modes`, a mode,
/// each after a colon. Flags for other devices are taken out: they are for the targets that have
/// them.
TargetFlags TargetFlagsOf(const std::string& word, bool modes, TargetFlags flags);

/// The targets that the command line names, sorted, or the one that the config or this machine
/// means. Nothing, and diagnostics, where one is wrong.
std::optional<std::vector<Target>> TargetsOf(const Args& args, const Config& config,
                                             std::vector<Diagnostic>* diagnostics);

}  // namespace kernelmap
