// What was rewritten for inference and is right in one mode only, train() or eval().
//
// The proof follows the attribute `training` as it is in the archive, so dropout that idles is
// nothing, and detach is its operand. A module that is put into train() later would lose both
// without a word. Each such site is found by deciding all sites once more as for training; its code
// then raises where one of the attributes is not what it was (rewriter/torchscript/training.h).
#pragma once

#include "rewriter/expr/execute.h"
#include "rewriter/sites.h"

namespace kernelmap {

/// Whether some code asks for `training`, or detaches: without either nothing depends on it.
bool DependsOnTraining(const expr::Program& program);

/// Marks the edits of `decisions` that are not among `trained`, the decisions on the same program
/// for training, with the attributes that their modules read. What a name alone let through is
/// among both.
void MarkNotForTraining(const expr::Program& program, const expr::Execution& execution,
                        const SiteDecisions& trained, SiteDecisions* decisions);

}  // namespace kernelmap
