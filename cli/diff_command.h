// What the two ways to call `kernelmap diff` share: by people, and by git.
#pragma once

#include <optional>
#include <string>

#include "cli/args.h"
#include "compiler/diff/diff.h"

namespace kernelmap {

/// Compares two operands for the targets that the command line names. Nothing, and the exit code,
/// where that cannot be done; what is wrong is printed.
std::optional<Diff> DiffOperands(const Args& args, Operand before, Operand after,
                                 const Environment& environment, int* exit_code);

/// As --format says; `color` is for text.
std::string RenderDiff(const Diff& diff, const std::string& format, bool color);

/// 0, or what --exit-code and --fail-on make of the diff.
int DiffExitCode(const Diff& diff, const Args& args);

/// kernelmap diff --git-driver PATH OLD OLD-HEX OLD-MODE NEW NEW-HEX NEW-MODE, as git calls an
/// external diff.
int RunGitDriver(const Args& args);

}  // namespace kernelmap
