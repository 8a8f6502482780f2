#include "compiler/document.h"

namespace kernelmap {

const Member* Node::Find(std::string_view key) const {
  for (const Member& member : members) {
    if (member.key == key) return &member;
  }
  return nullptr;
}

std::string_view KindName(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::kNull:
      return "null";
    case Node::Kind::kBool:
      return "a boolean";
    case Node::Kind::kInteger:
      return "a whole number";
    case Node::Kind::kFloat:
      return "a number with a fraction";
    case Node::Kind::kString:
      return "a string";
    case Node::Kind::kDate:
      return "a date or time";
    case Node::Kind::kArray:
      return "a list";
    case Node::Kind::kTable:
      return "a table";
  }
  return "";
}

Syntax GuessSyntax(std::string_view file_name, std::string_view text) {
  if (file_name.ends_with(".json")) return Syntax::kJson;
  if (file_name.ends_with(".toml")) return Syntax::kToml;
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' ? Syntax::kJson : Syntax::kToml;
}

void RemoveByteOrderMark(std::string* text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text->starts_with(kMark)) text->erase(0, kMark.size());
}

std::optional<Node> ReadDocument(Syntax syntax, Diagnostics* diagnostics,
                                 const DocumentLimits& limits) {
  const std::string_view text = diagnostics->source()->text();
  if (text.size() > limits.bytes) {
    diagnostics->Report<Diag::FileTooLarge>({0, 0}, limits.bytes);
    return std::nullopt;
  }
  const size_t nul = text.find('\0');
  const size_t valid = ValidUtf8Prefix(text);
  if (nul < valid) {
    diagnostics->Report<Diag::NulByte>({nul, nul + 1});
    return std::nullopt;
  }
  if (valid < text.size()) {
    diagnostics->Report<Diag::InvalidUtf8>({valid, valid + 1});
    return std::nullopt;
  }
  return syntax == Syntax::kToml ? ReadToml(diagnostics) : ReadJson(diagnostics, limits.values);
}

}  // namespace kernelmap
