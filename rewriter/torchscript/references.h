// The catalogue's references and the kernels' own code, compiled by TorchScript's front end.
#pragma once

#include <map>

#include "compiler/catalogue.h"
#include "compiler/plan.h"
#include "rewriter/sites.h"
#include "rewriter/torchscript/compile.h"
#include "rewriter/torchscript/import.h"

namespace kernelmap::torchscript {

/// Owns the compiled functions; `references` points into it, so it does not move.
struct CompiledReferences {
  CompiledReferences() = default;
  CompiledReferences(const CompiledReferences&) = delete;
  CompiledReferences& operator=(const CompiledReferences&) = delete;

  Imported imported;
  std::vector<CompiledSource> sources;
  std::vector<SiteReference> references;
  std::map<const Implementation*, torch::jit::Function*> implementations;
  std::map<std::pair<std::string, std::string>, torch::jit::Function*> stock;  // layer, reference
};

/// Code that was made for one site.
void CompileImplementation(const Implementation& implementation, CompiledReferences* out);

/// Of every layer that `plan` names, and of the kernels that it chose.
void CompileReferences(const Plan& plan, const Catalogue& catalogue, CompiledReferences* out);

}  // namespace kernelmap::torchscript
