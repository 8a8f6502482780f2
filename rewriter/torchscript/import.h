// TorchScript modules and functions as a neutral program, and the way back from each of its values
// and nodes to TorchScript's.
#pragma once

#include <torch/script.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "rewriter/expr/graph.h"

namespace kernelmap::torchscript {

struct ImportedGraph {
  torch::jit::Graph* graph = nullptr;
  std::vector<torch::jit::Value*> values;  // by value number
};

struct Imported {
  expr::Program program;
  std::vector<ImportedGraph> graphs;  // by graph number
  std::vector<c10::intrusive_ptr<c10::ivalue::Object>> objects;  // by object number
  std::unordered_map<const expr::Node*, torch::jit::Node*> nodes;
  std::unordered_map<const torch::jit::Function*, int> functions;
  std::vector<std::shared_ptr<void>> keep_alive;
};

/// Reads the whole module tree, all methods of all classes in it and the functions they call.
Imported ImportModule(const torch::jit::Module& module);

/// Reads one function (and what it calls) into `imported`; returns its graph number.
int ImportFunction(torch::jit::Function& function, Imported& imported);

/// "RMSNorm" for "__torch__.transformers.models.llama.___torch_mangle_12.RMSNorm".
std::string ClassName(const c10::ClassType& type);

}  // namespace kernelmap::torchscript
