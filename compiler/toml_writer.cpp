#include "compiler/toml_writer.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace kernelmap {
namespace {

constexpr size_t kLongest = 100;  // bytes of a line

bool IsBare(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) || c == '_' || c == '-');
  });
}

std::string FloatText(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, number);
  std::string text(buffer, result.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// ["ref", { … }].
bool IsReferenceWithMetadata(const Node& node) {
  return node.items.size() == 2 && node.items[0].Is(Node::Kind::kString) &&
         node.items[1].Is(Node::Kind::kTable) && !node.items[1].Find("kernel");
}

std::string Members(const Node& table) {
  std::string text;
  for (const Member& member : table.members) {
    text += (text.empty() ? "" : ", ") + TomlKey(member.key) + " = " + TomlValue(member.value);
  }
  return text;
}

std::string Assignment(std::string_view key, const Node& value) {
  return TomlKey(key) + " = " + TomlValue(value) + "\n";
}

bool IsPlainValue(const Node& node) {
  return !node.Is(Node::Kind::kTable) || node.Find("kernel") || node.Find("any");
}

// The entries of one name or fusion, after the keys of its table that are in one line. A table of
// devices that is too long for a line gets a header of its own, `path`.
struct Entry {
  std::string line, table;
};
Entry EntryOf(std::string_view key, const Node& value, const std::string& path) {
  std::string line = Assignment(key, value);
  if (IsPlainValue(value) || value.members.empty() || line.size() <= kLongest) return {line, ""};
  std::string table = "\n[" + path + "." + TomlKey(key) + "]\n";
  for (const Member& member : value.members) table += Assignment(member.key, member.value);
  return {"", table};
}

struct Mappings {
  std::string lines, tables, fusions;
};

void AddFusion(const Node& modules, const Node& kernel, Mappings* mappings) {
  const Entry entry = EntryOf("kernel", kernel, "fusion");
  mappings->fusions += "\n[[fusion]]\n" + Assignment("modules", modules) + entry.line + entry.table;
}

void AddName(std::string_view name, const Node& value, Mappings* mappings) {
  Entry entry = EntryOf(name, value, "kernel_mapping");
  mappings->lines += entry.line;
  mappings->tables += entry.table;
}

void AddMappings(const Node& node, Mappings* mappings) {
  for (const Member& member : node.members) AddName(member.key, member.value, mappings);
  for (const Node& pair : node.items) {
    if (pair.items.size() != 2) continue;
    if (pair.items[0].Is(Node::Kind::kString)) {
      AddName(pair.items[0].text, pair.items[1], mappings);
    } else {
      AddFusion(pair.items[0], pair.items[1], mappings);
    }
  }
}

// `[target]` or `[model]`: its values, then its lists of tables.
std::string Table(const std::string& name, const Node& table) {
  std::string lines, lists;
  for (const Member& member : table.members) {
    const bool list = member.value.Is(Node::Kind::kArray) && !member.value.items.empty() &&
                      member.value.items.front().Is(Node::Kind::kTable);
    if (!list) lines += Assignment(member.key, member.value);
    if (!list) continue;
    for (const Node& item : member.value.items) {
      lists += "\n[[" + name + "." + TomlKey(member.key) + "]]\n";
      for (const Member& inner : item.members) lists += Assignment(inner.key, inner.value);
    }
  }
  return (lines.empty() && !lists.empty() ? "" : "\n[" + name + "]\n" + lines) + lists;
}

}  // namespace

std::string TomlKey(std::string_view key) {
  return IsBare(key) ? std::string(key) : TomlString(key);
}

std::string TomlString(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      constexpr char kHex[] = "0123456789ABCDEF";
      out += std::string("\\u00") + kHex[byte >> 4] + kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string TomlValue(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kBool:
      return node.boolean ? "true" : "false";
    case Node::Kind::kInteger:
      return std::to_string(node.integer);
    case Node::Kind::kFloat:
      return FloatText(node.number);
    case Node::Kind::kString:
      return TomlString(node.text);
    case Node::Kind::kArray: {
      if (IsReferenceWithMetadata(node)) {
        const std::string metadata = Members(node.items[1]);
        return "{ kernel = " + TomlString(node.items[0].text) +
               (metadata.empty() ? "" : ", " + metadata) + " }";
      }
      std::string text;
      for (const Node& item : node.items) text += (text.empty() ? "" : ", ") + TomlValue(item);
      return "[" + text + "]";
    }
    case Node::Kind::kTable:
      return node.members.empty() ? "{}" : "{ " + Members(node) + " }";
    case Node::Kind::kNull:
    case Node::Kind::kDate:
      break;
  }
  return "\"\"";
}

std::string ConfigToToml(const Node& root) {
  std::string settings, tables;
  Mappings mappings;
  bool mapped = false;
  for (const Member& member : root.members) {
    if (member.key == "$schema") continue;
    if (member.key == "kernel_mapping") {
      mapped = true;
      AddMappings(member.value, &mappings);
    } else if (member.key == "fusion") {
      for (const Node& fusion : member.value.items) {
        const Member *modules = fusion.Find("modules"), *kernel = fusion.Find("kernel");
        if (modules && kernel) AddFusion(modules->value, kernel->value, &mappings);
      }
    } else if (member.value.Is(Node::Kind::kTable)) {
      tables += Table(member.key, member.value);
    } else {
      settings += Assignment(member.key, member.value);
    }
  }
  std::string text = settings + tables;
  if (mapped && (!mappings.lines.empty() || mappings.tables.empty())) {
    text += "\n[kernel_mapping]\n" + mappings.lines;
  }
  text += mappings.tables + mappings.fusions;
  return text.starts_with('\n') ? text.substr(1) : text;
}

}  // namespace kernelmap
