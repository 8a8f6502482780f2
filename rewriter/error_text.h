// What exceptions of libtorch say, in one line: the rest of their texts is stacks.
#pragma once

#include <exception>
#include <string>

namespace kernelmap {

/// The first line: what went wrong while an archive was read, written or compiled.
std::string FirstErrorLine(const std::exception& e);

/// What stands after the last "Error: ": what went wrong while a model ran, which TorchScript says
/// after its own stack. The first line where there is none.
std::string LastErrorLine(const std::exception& e);

}  // namespace kernelmap
