#include "compiler/archive/classes.h"

#include <algorithm>
#include <utility>

namespace kernelmap {
namespace {

constexpr uint64_t kMaxCodeBytes = uint64_t{1} << 30;
constexpr std::string_view kSetState = "__setstate__";

/// The strings of a list as torch prints it: `["weight", "bias", ]`.
std::vector<std::string> ListedNames(std::string_view list) {
  std::vector<std::string> names;
  while (true) {
    const size_t open = list.find('"');
    if (open == std::string_view::npos) return names;
    const size_t close = list.find('"', open + 1);
    if (close == std::string_view::npos) return names;
    names.emplace_back(list.substr(open + 1, close - open - 1));
    list.remove_prefix(close + 1);
  }
}

bool RemovePrefix(std::string_view* text, std::string_view prefix) {
  if (!text->starts_with(prefix)) return false;
  text->remove_prefix(prefix.size());
  return true;
}

size_t CountOf(std::string_view text, std::string_view word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace

std::string_view UnmangledName(std::string_view qualified) {
  return qualified.substr(qualified.rfind('.') + 1);
}

void ScanClasses(std::string_view source, const std::string& qualifier,
                 ClassDeclarations* classes) {
  std::vector<ClassDeclaration*> found;
  size_t definitions = 0;
  const std::string_view whole = source;
  while (!source.empty()) {
    const size_t end = std::min(source.find('\n'), source.size());
    std::string_view line = source.substr(0, end);
    source.remove_prefix(std::min(end + 1, source.size()));
    if (RemovePrefix(&line, "class ")) {
      const size_t name_end = line.find_first_of("(:");
      if (name_end == std::string_view::npos) continue;
      ClassDeclaration& declared =
          (*classes)[qualifier + "." + std::string(line.substr(0, name_end))];
      declared.module = line.substr(name_end).starts_with("(Module)");
      found.push_back(&declared);
    } else if (!found.empty() && RemovePrefix(&line, "  __parameters__ = [")) {
      found.back()->parameters = ListedNames(line);
    } else if (!found.empty() && RemovePrefix(&line, "  __buffers__ = [")) {
      found.back()->buffers = ListedNames(line);
    } else if (!found.empty() && line.starts_with("  def __setstate__(")) {
      found.back()->set_state = true;
      ++definitions;
    }
  }
  // The name also stands where it is called, or in a text made to slip past the scan: then any
  // class of the file may define it.
  if (CountOf(whole, kSetState) != definitions) {
    for (ClassDeclaration* declared : found) declared->set_state = true;
  }
}

ArchiveResult<ClassDeclarations> ReadClasses(const Archive& archive) {
  ClassDeclarations classes;
  const std::string code = archive.root() + "code/";
  uint64_t total = 0;
  for (const ZipEntry& entry : archive.zip().entries()) {
    if (!entry.name.starts_with(code) || !entry.name.ends_with(".py")) continue;
    total += entry.size;
    if (total > kMaxCodeBytes) {
      return ErrorAt(
          ArchiveErrorCode::kTooLarge, entry.header_offset,
          "the archive's code is over the limit of " + std::to_string(kMaxCodeBytes) + " bytes");
    }
    const ArchiveResult<std::string> source = archive.zip().Read(entry);
    if (!source) return source.error();
    std::string qualifier = entry.name.substr(code.size());
    qualifier.resize(qualifier.size() - 3);
    std::replace(qualifier.begin(), qualifier.end(), '/', '.');
    ScanClasses(*source, qualifier, &classes);
  }
  return classes;
}

}  // namespace kernelmap
