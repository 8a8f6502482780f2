// A program in a form that no front end owns: modules with attributes, and graphs of operations.
// TorchScript archives are read into it (rewriter/torchscript/import.h); nothing here names a torch
// type. Values are numbered within their graph, graphs and objects within the program.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "rewriter/expr/dtype.h"

namespace kernelmap::expr {

enum class Kind : std::uint8_t {
  kTensor,
  kInt,
  kFloat,
  kBool,
  kNone,
  kString,
  kDevice,
  kList,
  kTuple,
  kObject,
  kOther,
};

/// A constant or an attribute's value. Lists and tuples hold `items`. A tensor has dtype and shape;
/// `has_item` when it is 0-dimensional on the CPU, with its value in `integer` or `real`.
struct Constant {
  Kind kind = Kind::kNone;
  std::int64_t integer = 0;  // kInt, kBool; kObject: index of the object
  double real = 0;           // kFloat
  std::string text;          // kString, kDevice
  std::vector<Constant> items;
  DType dtype = kUnknownDType;
  std::vector<std::int64_t> shape;
  bool has_item = false;
  std::uint64_t identity = 0;  // tensors: equal for the same tensor
  std::uint64_t storage = 0;   // tensors: equal for tensors that may share memory
};

struct Block;

/// One operation. `writes` has bit i set when input i is changed in place; `aliases[j]` says which
/// inputs output j may share memory with.
struct Node {
  std::string op;    // "aten::add", "prim::GetAttr"
  std::string name;  // attribute or method of prim::GetAttr, SetAttr, CallMethod
  std::vector<int> inputs;
  std::vector<int> outputs;
  int constant = -1;  // prim::Constant: index into Program::constants
  int callee = -1;    // prim::CallFunction, CallMethod: graph, where the class is known
  std::uint64_t writes = 0;
  std::vector<std::uint64_t> aliases;
  bool random = false;       // may give another result for the same inputs
  bool has_effects = false;  // does something beside computing its outputs and `writes`
  bool known_schema = false;
  std::vector<Block> blocks;
  std::string source;  // "modeling_qwen3.py:63", "" when unknown
};

struct Block {
  std::vector<int> inputs;
  std::vector<int> outputs;
  std::vector<Node> nodes;
};

struct Graph {
  std::string name;         // "forward"
  std::vector<Kind> kinds;  // of its values
  Block body;
};

struct Object {
  std::string class_name;                                    // unmangled, last component
  int type = 0;                                              // equal for instances of one class
  std::vector<std::pair<std::string, Constant>> attributes;  // in slot order
  std::map<std::string, int> methods;                        // name -> graph
  const Constant* Find(const std::string& attribute) const;
};

/// A module by its first name in the order of named_modules(); "" is the root.
struct ModulePath {
  std::string path;
  int object = -1;
};

struct Program {
  std::vector<ModulePath> modules;  // each object once
  std::deque<Graph> graphs;
  std::vector<Object> objects;
  std::vector<Constant> constants;
  int root = 0;
};

}  // namespace kernelmap::expr
