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

/// The name in `class NAME…`, which it takes off the line; empty when that is not what it is.
/// Whatever torch would not take as a name is not one here: names are printed.
std::string_view DeclaredClass(std::string_view* line) {
  if (!line->starts_with("class ")) return "";
  const auto begin = line->find_first_not_of(' ', 6);
  if (begin == std::string_view::npos) return "";
  const auto in_name = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  };
  size_t end = begin;
  while (end < line->size() && in_name((*line)[end])) ++end;
  const std::string_view name = line->substr(begin, end - begin);
  if (!name.empty()) line->remove_prefix(end);
  return name;
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
    if (const std::string_view name = DeclaredClass(&line); !name.empty()) {
      ClassDeclaration& declared = (*classes)[qualifier + "." + std::string(name)];
      declared.module = line.starts_with("(Module)");
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
    if (found.empty()) (*classes)[qualifier].set_state = true;
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
