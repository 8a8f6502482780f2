#include "compiler/html/errors.h"

#include <charconv>

namespace kernelmap {
namespace {

using Kind = Node::Kind;

const Node* Find(const Node& table, std::string_view key, Kind kind) {
  const Member* member = table.Find(key);
  return member && member->value.Is(kind) ? &member->value : nullptr;
}

std::optional<double> Number(const Node& table, std::string_view key) {
  if (const Node* node = Find(table, key, Kind::kFloat)) return node->number;
  if (const Node* node = Find(table, key, Kind::kInteger)) return double(node->integer);
  return std::nullopt;
}

std::string Digits(double value, int digits) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::general, digits).ptr};
}

// "max abs 5.59e-09, max rel 2.64e-07, 576 ulp"; "" where nothing was measured.
std::string ErrorText(const Node& site) {
  const Node* exact = Find(site, "bit_exact", Kind::kBool);
  if (exact && exact->boolean) return "bit-exact";
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (const auto value = Number(site, "max_abs")) add("max abs " + Digits(*value, 3));
  if (const auto value = Number(site, "max_rel")) add("max rel " + Digits(*value, 3));
  if (const auto value = Number(site, "max_ulp")) add(Digits(*value, 6) + " ulp");
  const Node* same = Find(site, "deterministic", Kind::kBool);
  if (same && !same->boolean) add("not deterministic");
  return text;
}

}  // namespace

std::optional<SiteErrors> ReadSiteErrors(const Node& root, Diagnostics* diagnostics) {
  constexpr std::string_view kFormat = "kernelmap-verify/1";
  const Node* format = Find(root, "format", Kind::kString);
  const Node* sites = Find(root, "sites", Kind::kArray);
  if (!format || !sites) {
    diagnostics->Report<Diag::MissingKey>(root.span, format ? "sites" : "format",
                                          "the output of verify");
    return std::nullopt;
  }
  if (format->text != kFormat) {
    diagnostics->Report<Diag::OtherVersion>(format->span, format->text, kFormat);
    return std::nullopt;
  }
  SiteErrors errors;
  for (const Node& site : sites->items) {
    const Node* path = Find(site, "path", Kind::kString);
    const Node* name = Find(site, "name", Kind::kString);
    if (path && name) errors[{path->text, name->text}] = ErrorText(site);
  }
  return errors;
}

}  // namespace kernelmap
