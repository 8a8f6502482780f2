// The ops that archives call where a kernel is not built in: kernelmap_hub::NAME.
//
// An adapter is an op of its own name and schema, registered once in a process. It runs the code
// of a kernel's layer, or the stock code that the layer stands for, whichever it was bound to.
// Where a gradient is wanted, backward differentiates the stock code on the saved inputs.
#pragma once

#include <string>

#include "compiler/catalogue.h"
#include "rewriter/torchscript/compile.h"

namespace kernelmap {

enum class AdapterState { kUnbound, kStock, kKernel };

/// Registers the op, so that code which calls it compiles. Until it is bound, calling it is an
/// error. The same again does nothing. Throws c10::Error when the schema is wrong.
void DeclareAdapter(const Adapter& adapter);

/// What the op runs now; unbound when it was never declared.
AdapterState StateOf(const std::string& op);

/// Makes the declared op run a kernel: `forward` is adapter.forward, compiled. An op that runs a
/// kernel already keeps it. Throws c10::Error when the code does not have the op's signature, or
/// writes into its arguments, which the op says it does not.
void BindKernel(const Adapter& adapter, const torchscript::CompiledSource& forward);

/// Makes the declared op run the stock code. An op that runs a kernel keeps that.
void BindStock(const Adapter& adapter);

}  // namespace kernelmap
