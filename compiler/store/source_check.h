// What is asked of a kernel's code before TorchScript's parser sees it, whoever wrote it:
// layers.py, a binding, an archive. Python is read otherwise than that parser reads it in a few
// places, and it has no limits of its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/store/python_text.h"

namespace kernelmap {

/// What is wrong with one statement: "a chained comparison", which the parser takes for something
/// else; more tokens or deeper brackets than any code has. "" when nothing is.
std::string StatementProblem(const PythonLine& line);

/// The same for a whole text; and blocks too deep, too many functions, or text that is not Python.
std::string CodeProblem(std::string_view text);

/// How a file binds a name outside of its functions.
struct NameBinding {
  enum class Kind { kClass, kFunction, kImport, kOther } kind = Kind::kOther;
  const PythonLine* line = nullptr;
  std::string from;          // of an import: "torch", "._ops.ops"
  bool conditional = false;  // inside `if`, `try`, ...
  bool decorated = false;
};

/// Every binding of `name`: definitions, imports, assignments to it or to an attribute of it.
/// A name that code may change in ways that text does not show counts as bound by that.
std::vector<NameBinding> BindingsOf(const std::vector<PythonLine>& lines, std::string_view name);

/// `prefix`, with as many underscores before it as no name of the text starts with.
std::string FreshPrefix(const std::vector<PythonLine>& lines, std::string prefix);

}  // namespace kernelmap
