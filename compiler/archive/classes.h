// The classes that an archive's code/ declares: as much of them as the module tree needs.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/archive/archive.h"
#include "compiler/archive/error.h"

namespace kernelmap {

struct ClassDeclaration {
  bool module = false;     // `class X(Module):`
  bool set_state = false;  // may define __setstate__: true for every class of a file whose text
                           // names it other than in torch's own way of writing a definition
  std::vector<std::string> parameters, buffers;  // names, in the order of the class
};

/// By qualified name: "__torch__.package.module.___torch_mangle_3.Linear".
using ClassDeclarations = std::unordered_map<std::string, ClassDeclaration>;

/// Of every source under code/. Sources are scanned line by line, as torch lays them out; they are
/// not compiled, and what else they hold is not checked.
ArchiveResult<ClassDeclarations> ReadClasses(const Archive& archive);

/// Adds the classes of one source. A source that names __setstate__ and seems to declare no class
/// counts as a class of its own name. `qualifier` is its module: "__torch__.package.module".
void ScanClasses(std::string_view source, const std::string& qualifier, ClassDeclarations* classes);

/// "Linear" of "__torch__.torch.nn.modules.linear.___torch_mangle_3.Linear".
std::string_view UnmangledName(std::string_view qualified);

}  // namespace kernelmap
