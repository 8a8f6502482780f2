// The modules of a TorchScript archive, read without libtorch: no tensor is read and no code is
// run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/archive/archive.h"
#include "compiler/archive/error.h"

namespace kernelmap {

struct TensorInfo {
  std::string name;  // within its module: "weight"
  std::vector<int64_t> shape;
  std::string dtype;  // "float32", "bfloat16", "qint8", …; "unknown" when it has no storage
};

struct ArchiveModule {
  std::string path;             // as named_modules() gives it; "" is the root
  std::string class_name;       // last component, unmangled
  std::string qualified_class;  // "__torch__.package.module.___torch_mangle_3.Linear"
  std::vector<TensorInfo> parameters, buffers;  // its own, not those of its children
  bool opaque = false;  // its state goes through __setstate__: children and tensors are unknown
};

struct ModuleTree {
  /// In the order of named_modules() of the loaded module: a parent before its children, children
  /// in the order of the class. An instance under two names is listed twice.
  std::vector<ArchiveModule> modules;
  /// Qualified names of the classes that define __setstate__ (or may), sorted: loading the archive
  /// runs their code.
  std::vector<std::string> set_state_classes;
};

struct ModuleTreeLimits {
  uint64_t max_modules = 1'000'000;
  uint64_t max_depth = 256;
  uint64_t max_path_bytes = uint64_t{256} << 20;  // of all paths together
  uint64_t max_attributes = 50'000'000;           // counted once a path
  uint64_t max_tensors = 10'000'000;
};

ArchiveResult<ModuleTree> ReadModuleTree(const Archive& archive,
                                         const ModuleTreeLimits& limits = {});

}  // namespace kernelmap
