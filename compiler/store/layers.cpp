#include "compiler/store/layers.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "compiler/store/python_text.h"

namespace kernelmap {
namespace {

using Tokens = std::vector<PythonToken>;

constexpr size_t kMaxBases = 100;  // of one class, those of bases too

struct Class {
  std::vector<std::string> bases;
  std::map<std::string, std::string> assigned;  // in its body; the last assignment stays
};

struct Classes {
  std::vector<std::string> names;                     // in order
  std::map<std::string, Class, std::less<>> by_name;  // the last definition stays
};

// `name: type = value` or `name = value`.
void ReadAssignment(const Tokens& tokens, Class* into) {
  if (tokens.size() < 3 || tokens[0].kind != PythonToken::Kind::kName) return;
  size_t sign = 1;
  if (tokens[1].Is(":")) {
    while (sign < tokens.size() && !tokens[sign].Is("=")) ++sign;
  }
  if (sign == tokens.size() || !tokens[sign].Is("=")) return;
  into->assigned[tokens[0].text] = JoinTokens(tokens, sign + 1, tokens.size());
}

// The names that stand first in an argument: what has a dot or brackets is of another file.
std::vector<std::string> ReadBases(const Tokens& tokens) {
  std::vector<std::string> bases;
  if (tokens.size() < 3 || !tokens[2].Is("(")) return bases;
  const size_t close = ClosingBracket(tokens, 2);
  for (size_t i = 3; i < close; ++i) {
    const bool whole = (tokens[i - 1].Is("(") || tokens[i - 1].Is(",")) && !tokens[i + 1].Is(".");
    if (whole && tokens[i].kind == PythonToken::Kind::kName) bases.push_back(tokens[i].text);
  }
  return bases;
}

// Classes at the outermost level, and what their bodies assign. Nothing of what is no Python.
std::optional<Classes> ReadClasses(std::string_view text) {
  const std::optional<std::vector<PythonLine>> lines = ReadPython(text);
  if (!lines) return std::nullopt;
  Classes classes;
  Class* inside = nullptr;
  int body = 0;  // the indent of the class's own lines; 0: not seen yet
  for (const PythonLine& line : *lines) {
    const Tokens& tokens = line.tokens;
    if (line.indent == 0) {
      inside = nullptr;
      if (tokens.size() < 2 || !tokens[0].Is("class")) continue;
      if (tokens[1].kind != PythonToken::Kind::kName) continue;
      const auto [at, added] = classes.by_name.insert_or_assign(tokens[1].text, Class{});
      if (added) classes.names.push_back(tokens[1].text);
      inside = &at->second;
      inside->bases = ReadBases(tokens);
      body = 0;
    } else if (inside) {
      if (body == 0) body = line.indent;
      if (line.indent == body) ReadAssignment(tokens, inside);
    }
  }
  return classes;
}

// The value of a class's attribute, its own or of a base. Nothing where none has it.
std::optional<std::string> Attribute(const Classes& classes, const std::string& of,
                                     const std::string& name, std::set<std::string>* seen) {
  const auto found = classes.by_name.find(of);
  if (found == classes.by_name.end() || !seen->insert(of).second) return std::nullopt;
  if (seen->size() > kMaxBases) return "";
  const auto own = found->second.assigned.find(name);
  if (own != found->second.assigned.end()) return own->second;
  for (const std::string& base : found->second.bases) {
    if (auto value = Attribute(classes, base, name, seen)) return value;
  }
  return std::nullopt;
}

bool Flag(const Classes& classes, const std::string& of, const std::string& name, bool absent) {
  std::set<std::string> seen;
  const std::optional<std::string> value = Attribute(classes, of, name, &seen);
  return value ? *value == "True" : absent;
}

LayerFlags FlagsOf(const Classes& classes, const std::string& name) {
  return {true, Flag(classes, name, "has_backward", true),
          Flag(classes, name, "can_torch_compile", false)};
}

}  // namespace

LayerFlags ReadLayerFlags(std::string_view text, std::string_view name) {
  const std::optional<Classes> classes = ReadClasses(text);
  if (!classes) return {false, false, false};
  const auto found = classes->by_name.find(name);
  return found == classes->by_name.end() ? LayerFlags{} : FlagsOf(*classes, found->first);
}

std::vector<std::pair<std::string, LayerFlags>> ReadLayers(std::string_view text) {
  std::vector<std::pair<std::string, LayerFlags>> layers;
  const std::optional<Classes> classes = ReadClasses(text);
  if (!classes) return layers;
  for (const std::string& name : classes->names) {
    layers.emplace_back(name, FlagsOf(*classes, name));
  }
  return layers;
}

}  // namespace kernelmap
