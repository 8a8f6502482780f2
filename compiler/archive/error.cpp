#include "compiler/archive/error.h"

#include "compiler/display.h"

namespace kernelmap {

const std::vector<ArchiveErrorKind>& ArchiveErrorKinds() {
  static const std::vector<ArchiveErrorKind> kinds = {
#define KM_ARCHIVE_ERROR(code, name, title, explanation) {#code, #name, title, explanation},
#include "compiler/archive/errors.def"
  };
  return kinds;
}

std::string Describe(const ArchiveError& error) {
  if (!error.has_offset) return error.message;
  std::string place = "byte " + std::to_string(error.offset);
  if (!error.entry.empty()) place += " of `" + error.entry + "`";
  return error.message + " (" + place + ")";
}

std::string ArchiveErrorToText(const std::string& file, const ArchiveError& error) {
  const ArchiveErrorKind& kind = ArchiveErrorKinds()[static_cast<size_t>(error.code)];
  return Printable(file) + ": error[" + std::string(kind.code) +
         "]: " + Printable(Describe(error)) + "\n";
}

}  // namespace kernelmap
