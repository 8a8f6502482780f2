// Code that was rewritten for inference raises in the other mode, where it is not right.
//
// before: forward computes something
// after:  forward first raises where one of the site's attributes `training` is not what it was
#pragma once

#include "rewriter/sites.h"
#include "rewriter/torchscript/import.h"

namespace kernelmap::torchscript {

/// After the edits. Of each graph once; a flag costs an attribute and a branch a call.
void AssertNotTraining(const SiteDecisions& decisions, const Imported& imported);

}  // namespace kernelmap::torchscript
