# Writes OUTPUT, a C++ file that defines EmbeddedFiles() from the files FILES (names relative to
# ROOT, separated by "|"). A file is cut into pieces because compilers limit the length of a literal.
string(REPLACE "|" ";" FILES "${FILES}")
list(SORT FILES)
set(entries "")
foreach(name IN LISTS FILES)
  file(READ "${ROOT}/${name}" text)
  string(LENGTH "${text}" length)
  string(APPEND entries "    {\"${name}\", ")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 8000 piece)
    string(APPEND entries "R\"KM_EMBED(${piece})KM_EMBED\"\n")
    math(EXPR at "${at} + 8000")
  endwhile()
  if(length EQUAL 0)
    string(APPEND entries "\"\"")
  endif()
  string(APPEND entries "},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Generated from kernels/ by compiler/embed.cmake.
// clang-format off
#include \"compiler/embedded.h\"

#include <vector>

namespace kernelmap {

std::span<const EmbeddedFile> EmbeddedFiles() {
  static const std::vector<EmbeddedFile> files = {
${entries}  };
  return files;
}

}  // namespace kernelmap
")
