// The kernels of the Hub that an archive calls: found, checked, loaded and bound.
#pragma once

#include <string>
#include <vector>

#include "rewriter/modules/load_options.h"

namespace kernelmap {

/// Makes every op that the archive's adapters.json names ready to run. Does nothing for an archive
/// without one, or a file that is no archive: loading that will say so. Throws c10::Error where a
/// kernel is not trusted or cannot be had and `options` allow nothing else. Returns a sentence for
/// each kernel that stock code stands for.
std::vector<std::string> LoadKernels(const std::string& path, const LoadOptions& options);

struct EmbeddedKernels;  // compiler/store/embedded_kernels.h

/// The same for kernels that no archive says, but a plan chose.
std::vector<std::string> LoadKernels(const EmbeddedKernels& kernels, const LoadOptions& options);

/// Only declares the ops, so that the archive can be read: nothing of a kernel is loaded, and
/// running the model is an error.
void DeclareKernels(const std::string& path);

}  // namespace kernelmap
