// What the headers of a shared library (ELF) say of it: whether the file is whole, and what machine
// it is for. Nothing else of it is looked at: a file that is no ELF file passes.
#pragma once

#include <cstdint>
#include <string>

namespace kernelmap {

struct ElfFacts {
  bool cut_short = false;  // a table, or what a segment loads, lies past the end of the file
  std::string machine;     // "x86_64", "aarch64", "machine 40", "32 bits"; "" of no ELF file
};

/// Of an open file of `size` bytes; its position does not count and stays.
ElfFacts ReadElf(int descriptor, uint64_t size);

}  // namespace kernelmap
