#include "compiler/bind.h"

#include <algorithm>

#include "compiler/suggest.h"

namespace kernelmap {

void ReportWrongType(std::string_view key, std::string_view wanted, const Node& found,
                     Diagnostics* diagnostics) {
  std::string help;
  const bool number = found.Is(Node::Kind::kInteger) || found.Is(Node::Kind::kFloat);
  if (number && wanted == "a string") {
    help = "write \"" + std::string(diagnostics->source()->Slice(found.span)) + "\"";
  }
  if (found.Is(Node::Kind::kString) && wanted == "true or false" &&
      (found.text == "true" || found.text == "false")) {
    help = "write " + found.text + " without quotes";
  }
  diagnostics->Report<Diag::WrongType>(found.span, key, wanted, KindName(found.kind)).Help(help);
}

void ReportUnknownKey(const Member& member, std::string_view where,
                      const std::vector<std::string>& keys, Diagnostics* diagnostics) {
  diagnostics->Report<Diag::UnknownKey>(member.key_span, member.key, where)
      .Help(DidYouMean(member.key, keys));
}

bool IsKind(const Node& node, Node::Kind kind, std::string_view key, std::string_view wanted,
            Diagnostics* diagnostics) {
  if (node.Is(kind)) return true;
  ReportWrongType(key, wanted, node, diagnostics);
  return false;
}

std::optional<std::string> BindText(const Member& member, Diagnostics* diagnostics) {
  if (!IsKind(member.value, Node::Kind::kString, member.key, "a string", diagnostics)) {
    return std::nullopt;
  }
  return member.value.text;
}

std::optional<bool> BindBool(const Member& member, Diagnostics* diagnostics) {
  if (!IsKind(member.value, Node::Kind::kBool, member.key, "true or false", diagnostics)) {
    return std::nullopt;
  }
  return member.value.boolean;
}

std::vector<std::string> BindTexts(const Member& member, Diagnostics* diagnostics) {
  std::vector<std::string> texts;
  if (!IsKind(member.value, Node::Kind::kArray, member.key, "a list of strings", diagnostics)) {
    return texts;
  }
  for (const Node& item : member.value.items) {
    if (IsKind(item, Node::Kind::kString, member.key, "a list of strings", diagnostics)) {
      texts.push_back(item.text);
    }
  }
  return texts;
}

std::vector<std::string> BindSortedTexts(const Member& member, Diagnostics* diagnostics) {
  std::vector<std::string> texts = BindTexts(member, diagnostics);
  std::sort(texts.begin(), texts.end());
  return texts;
}

std::optional<std::string> BindWord(const Node& node, std::string_view key,
                                    const std::vector<std::string>& words,
                                    Diagnostics* diagnostics) {
  if (!IsKind(node, Node::Kind::kString, key, "a string", diagnostics)) return std::nullopt;
  if (std::find(words.begin(), words.end(), node.text) != words.end()) return node.text;
  diagnostics->Report<Diag::UnknownValue>(node.span, node.text, key)
      .Help(DidYouMeanOneOf(node.text, words));
  return std::nullopt;
}

std::vector<std::string> Texts(const std::vector<PathPattern>& patterns) {
  std::vector<std::string> texts;
  for (const PathPattern& pattern : patterns) texts.push_back(pattern.text);
  return texts;
}

}  // namespace kernelmap
