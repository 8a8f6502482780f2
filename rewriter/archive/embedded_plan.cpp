#include "rewriter/archive/embedded_plan.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "compiler/diagnostics.h"
#include "compiler/document.h"

namespace kernelmap {
namespace {

std::optional<Node> Parse(std::string_view json) {
  Diagnostics diagnostics(std::make_shared<Source>("embedded", std::string(json)));
  return ReadDocument(Syntax::kJson, &diagnostics);
}

bool IsProvenance(std::string_view key) {
  return key == "config" || key == "source" || key == "trace" || key == "text" ||
         key == "interval" || key == "sites";
}

bool Same(const Node& a, const Node& b) {
  if (a.kind != b.kind || a.items.size() != b.items.size()) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!Same(a.items[i], b.items[i])) return false;
  }
  for (const auto* pair : {&a, &b}) {
    const Node& other = pair == &a ? b : a;
    for (const Member& member : pair->members) {
      if (IsProvenance(member.key)) continue;
      const Member* twin = other.Find(member.key);
      if (!twin || !Same(member.value, twin->value)) return false;
    }
  }
  return a.boolean == b.boolean && a.integer == b.integer && a.number == b.number &&
         a.text == b.text;
}

}  // namespace

bool SamePlan(std::string_view a, std::string_view b) {
  const auto x = Parse(a), y = Parse(b);
  return x && y && Same(*x, *y);
}

std::string OriginalModel(std::string_view report) {
  const auto root = Parse(report);
  if (!root) return "";
  const Member* model = root->Find("model");
  const Member* digest = model ? model->value.Find("sha256") : nullptr;
  return digest && digest->value.Is(Node::Kind::kString) ? digest->value.text : "";
}

}  // namespace kernelmap
