#include "compiler/store/elf.h"

#include <elf.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

namespace kernelmap {
namespace {

static_assert(std::endian::native == std::endian::little, "the tables are read as they lie");

// False where the file ends before, or cannot be read.
template <typename T>
bool ReadAt(int descriptor, uint64_t at, T* out) {
  char* bytes = reinterpret_cast<char*>(out);
  for (size_t done = 0; done < sizeof(T);) {
    const ssize_t got =
        pread(descriptor, bytes + done, sizeof(T) - done, static_cast<off_t>(at + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

std::string MachineName(unsigned machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86_64";
    case EM_AARCH64:
      return "aarch64";
    case EM_PPC64:
      return "ppc64le";
    case EM_RISCV:
      return "riscv64";
    case EM_S390:
      return "s390x";
    default:
      return "machine " + std::to_string(machine);
  }
}

}  // namespace

ElfFacts ReadElf(int descriptor, uint64_t size) {
  ElfFacts facts;
  char magic[SELFMAG];
  if (!ReadAt(descriptor, 0, &magic) || std::memcmp(magic, ELFMAG, SELFMAG) != 0) return facts;
  Elf64_Ehdr header;
  if (!ReadAt(descriptor, 0, &header)) return facts.cut_short = true, facts;
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return facts.machine = "32 bits", facts;
  if (header.e_ident[EI_DATA] != ELFDATA2LSB) return facts.machine = "big-endian", facts;
  facts.machine = MachineName(header.e_machine);
  const auto ends = [&](uint64_t at, uint64_t bytes) { return at > size || bytes > size - at; };
  facts.cut_short = ends(header.e_phoff, uint64_t{header.e_phnum} * header.e_phentsize) ||
                    ends(header.e_shoff, uint64_t{header.e_shnum} * header.e_shentsize);
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return facts;  // no loader takes it
  for (uint64_t i = 0; i < header.e_phnum && !facts.cut_short; ++i) {
    Elf64_Phdr segment;
    if (!ReadAt(descriptor, header.e_phoff + i * sizeof segment, &segment))
      facts.cut_short = true;
    else if (segment.p_type == PT_LOAD)
      facts.cut_short = ends(segment.p_offset, segment.p_filesz);
  }
  return facts;
}

}  // namespace kernelmap
