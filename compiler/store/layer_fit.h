// Whether a class of a layers.py can stand for a layer, by its name and by what its forward reads.
// That it computes the layer stays the repository's word.
#pragma once

#include <string>
#include <vector>

#include "compiler/binding.h"
#include "compiler/catalogue.h"
#include "compiler/store/layer_source.h"

namespace kernelmap {

struct FormFit {
  std::string problem;                  // "does not read `eps`, which …"; "" when it fits
  size_t inputs = 0;                    // of the form's parameters, the first that forward takes
  std::vector<std::string> attributes;  // the form's parameter for each attribute of the source
};

/// How `source` stands for a form of a layer. All that the form computes with must be read: a
/// kernel that leaves out a weight is one for something smaller.
FormFit FitForm(const LayerSource& source, const Layer& layer, const SourceSignature& form);

/// The layer that a kernel says it is, where that is not `layer`: the layers that its binding has
/// code for; without such code the layer that is called like its class, whatever the case. "" where
/// it is `layer`, or says nothing.
std::string OtherLayer(const std::string& kernel, const Layer& layer, const BoundKernel* bound,
                       const Catalogue& catalogue);

}  // namespace kernelmap
