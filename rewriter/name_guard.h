// guard = "name": a kernel takes the place of a module's forward because of the module's name, as
// in Python, whatever the module computes.
//
// before: forward(self, x) computes something and returns one tensor
// after:  forward(self, x) returns what the kernel computes of x and the module's own attributes
// conditions: forward takes as many tensors as the kernel does and returns one, and the module has
// each attribute that the kernel reads; nothing is proved
#pragma once

#include <memory>
#include <variant>

#include "compiler/catalogue.h"
#include "rewriter/expr/edit.h"
#include "rewriter/expr/execute.h"

namespace kernelmap {

struct NamedEdit {
  expr::Edit edit;
  std::shared_ptr<const Implementation> implementation;
};

/// The edit of the graph that `frame` runs, forward of a module that answers to `layer_name`;
/// `layer` is that of the catalogue, or null. Else what does not fit: `signature`, `no_attribute`.
std::variant<NamedEdit, expr::Refusal> ReplaceByName(const Kernel& kernel,
                                                     const std::string& layer_name,
                                                     const Layer* layer,
                                                     const expr::Program& program,
                                                     const expr::Frame& frame);

}  // namespace kernelmap
