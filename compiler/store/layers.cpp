#include "compiler/store/layers.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <utility>

namespace kernelmap {
namespace {

bool IsWordCharacter(char c) {
  return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
}

// A logical line of Python: without comments, strings emptied, brackets joined into one line.
struct Line {
  size_t indent = 0;
  std::string text;
};

// Skips a string that starts at `at`, a quote; returns the place after it.
size_t SkipString(std::string_view text, size_t at) {
  const char quote = text[at];
  const bool triple = text.substr(at, 3) == std::string(3, quote);
  const std::string_view end = triple ? text.substr(at, 3) : text.substr(at, 1);
  for (size_t i = at + end.size(); i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text.substr(i, end.size()) == end) {
      return i + end.size();
    } else if (text[i] == '\n' && !triple) {
      return i;
    }
  }
  return text.size();
}

std::vector<Line> Lines(std::string_view text) {
  std::vector<Line> lines;
  Line line;
  int brackets = 0;
  bool at_start = true;
  const auto finish = [&] {
    while (!line.text.empty() && line.text.back() == ' ') line.text.pop_back();
    if (!line.text.empty()) lines.push_back(std::move(line));
    line = {};
    at_start = true;
  };
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\n' && brackets <= 0) {
      finish();
      ++i;
    } else if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '\'' || c == '"') {
      line.text += "''";
      at_start = false;
      i = SkipString(text, i);
    } else if (c == '\\' && i + 1 < text.size() && text[i + 1] == '\n') {
      i += 2;
    } else {
      const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
      if (at_start && space) {
        line.indent += c == '\t' ? 8 - line.indent % 8 : 1;
      } else {
        at_start = false;
        line.text += space ? ' ' : c;
        if (c == '(' || c == '[' || c == '{') ++brackets;
        if (c == ')' || c == ']' || c == '}') --brackets;
      }
      ++i;
    }
  }
  finish();
  return lines;
}

struct Class {
  std::string name;
  std::vector<std::string> bases;
  std::vector<std::pair<std::string, std::string>> assigned;  // in its body, in order
};

// "name: type = value" or "name = value".
std::optional<std::pair<std::string, std::string>> ReadAssignment(const std::string& line) {
  size_t end = 0;
  while (end < line.size() && IsWordCharacter(line[end])) ++end;
  const size_t sign = line.find('=', end);
  if (end == 0 || sign == std::string::npos || line.substr(sign, 2) == "==") return std::nullopt;
  const size_t next = line.find_first_not_of(' ', end);
  if (line[next] != ':' && next != sign) return std::nullopt;
  const size_t value = std::min(line.find_first_not_of(' ', sign + 1), line.size());
  return std::pair(line.substr(0, end), line.substr(value));
}

std::optional<Class> ReadClass(const std::string& line) {
  if (!line.starts_with("class ")) return std::nullopt;
  Class read;
  size_t i = line.find_first_not_of(' ', 6);
  while (i < line.size() && IsWordCharacter(line[i])) read.name += line[i++];
  std::string base;
  for (; i < line.size() && line[i] != ')'; ++i) {
    if (IsWordCharacter(line[i]) || line[i] == '.') {
      base += line[i];
    } else if (!base.empty()) {
      read.bases.push_back(std::exchange(base, ""));
    }
  }
  if (!base.empty()) read.bases.push_back(base);
  if (read.name.empty()) return std::nullopt;
  return read;
}

// Classes at the outermost level, and what their bodies assign.
std::vector<Class> Classes(std::string_view text) {
  std::vector<Class> classes;
  bool inside = false;
  size_t body = 0;  // the indent of the class's own lines; 0: not seen yet
  for (const Line& line : Lines(text)) {
    if (line.indent == 0) {
      const std::optional<Class> read = ReadClass(line.text);
      inside = read.has_value();
      body = 0;
      if (read) classes.push_back(*read);
      continue;
    }
    if (!inside) continue;
    if (body == 0) body = line.indent;
    if (line.indent != body) continue;
    if (auto assigned = ReadAssignment(line.text)) {
      classes.back().assigned.push_back(std::move(*assigned));
    }
  }
  return classes;
}

const Class* Find(const std::vector<Class>& classes, std::string_view name) {
  // The last definition is the one that stays.
  for (size_t i = classes.size(); i-- > 0;) {
    if (classes[i].name == name) return &classes[i];
  }
  return nullptr;
}

std::optional<std::string> Attribute(const std::vector<Class>& classes, const Class& of,
                                     std::string_view name, std::set<std::string>* seen) {
  if (!seen->insert(of.name).second) return std::nullopt;
  for (size_t i = of.assigned.size(); i-- > 0;) {
    if (of.assigned[i].first == name) return of.assigned[i].second;
  }
  for (const std::string& base : of.bases) {
    const Class* found = Find(classes, base);
    if (!found) continue;
    if (auto value = Attribute(classes, *found, name, seen)) return value;
  }
  return std::nullopt;
}

}  // namespace

LayerFlags ReadLayerFlags(std::string_view text, std::string_view name) {
  const std::vector<Class> classes = Classes(text);
  LayerFlags flags;
  const Class* layer = Find(classes, name);
  if (!layer) return flags;
  flags.found = true;
  std::set<std::string> seen, seen_too;
  if (auto value = Attribute(classes, *layer, "has_backward", &seen)) {
    flags.has_backward = *value == "True";
  }
  if (auto value = Attribute(classes, *layer, "can_torch_compile", &seen_too)) {
    flags.can_torch_compile = *value == "True";
  }
  return flags;
}

std::vector<std::string> LayerNames(std::string_view text) {
  std::vector<std::string> names;
  for (const Class& one : Classes(text)) names.push_back(one.name);
  return names;
}

}  // namespace kernelmap
