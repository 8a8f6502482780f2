#include "tests/rewriter/plan_for_fusions.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "compiler/store/layer_source.h"

namespace kernelmap {
namespace {

using Forms = std::vector<const Reference*>;  // one a member

std::vector<Forms> AllForms(const std::vector<FusedMember>& members) {
  std::vector<Forms> all{{}};
  for (const FusedMember& member : members) {
    std::vector<Forms> longer;
    for (const Forms& forms : all) {
      for (const Reference& reference : BuiltinCatalogue().FindLayer(member.layer)->references) {
        longer.push_back(forms);
        longer.back().push_back(&reference);
      }
    }
    all = std::move(longer);
  }
  return all;
}

Layout Node(Layout::Kind kind, std::vector<Layout> operands, std::vector<int64_t> integers = {}) {
  Layout layout;
  layout.kind = kind;
  layout.operands = std::move(operands);
  layout.integers = std::move(integers);
  return layout;
}

// A parameter by way of every function of the language, bit for bit what it was.
Layout LongWay(const std::string& path, bool matrix) {
  using Kind = Layout::Kind;
  Layout layout, one, zero;
  layout.kind = Kind::kParameter;
  layout.path = path;
  one.number = 1;
  layout = Node(Kind::kSubtract, {Node(Kind::kAdd, {zero, layout}), zero});
  layout = Node(Kind::kDivide, {Node(Kind::kMultiply, {one, layout}), one});
  if (matrix) {
    layout = Node(Kind::kTranspose, {Node(Kind::kTranspose, {layout}, {0, 1})}, {-1, -2});
  }
  const Layout twice = Node(Kind::kAdd, {layout, layout});
  return Node(Kind::kChunk, {Node(Kind::kConcat, {twice, layout}, {-1})}, {2, -1, 1});
}

// Each member's reference under a name of its own, and a forward that calls them.
Implementation Compose(const std::vector<FusedMember>& members, const Forms& forms,
                       bool same_input) {
  Implementation made;
  made.members = members;
  made.same_input = same_input;
  std::string head = "def forward(x: Tensor", results, chain = "x";
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::string& member = members[i].name;
    made.layer += (i == 0 ? "" : "+") + members[i].layer;
    made.members[i].references = {forms[i]->name};
    std::string source = forms[i]->source;
    source.replace(source.find("def forward"), 11, "def " + member + "_code");
    made.source += source + "\n";
    std::string arguments;
    const SourceSignature signature = ReadForwardSignature(forms[i]->source).value();
    for (const SourceParameter& parameter : signature.parameters) {
      if (parameter.name == "x") continue;
      const bool tensor = parameter.type == "Tensor";
      const std::string name = tensor ? member + "_" + parameter.name : parameter.name;
      head += ", " + name + ": " + parameter.type;
      arguments += ", " + name;
      if (!tensor) continue;
      const bool matrix = parameter.name.ends_with("weight") && members[i].layer != "RMSNorm";
      made.layout[name] = LongWay(member + "." + parameter.name, matrix);
    }
    chain = member + "_code(" + (same_input ? "x" : chain) + arguments + ")";
    results += (i == 0 ? "" : ", ") + chain;
  }
  std::string type = "Tensor";
  for (std::size_t i = 1; same_input && i < members.size(); ++i) type += ", Tensor";
  made.source += head + ") -> " + (same_input ? "Tuple[" + type + "]" : type) + ":\n    return " +
                 (same_input ? results : chain) + "\n";
  return made;
}

void Add(Plan& plan, const std::vector<FusedMember>& members,
         const std::vector<std::string>& patterns, bool same_input) {
  auto kernel = std::make_shared<Kernel>();
  kernel->name = "own_code";
  kernel->dtypes = {"float32", "bfloat16", "float16"};
  for (const Forms& forms : AllForms(members)) {
    kernel->implementations.push_back(Compose(members, forms, same_input));
  }
  for (const std::string root : {"model.model.layers.*.", "layers.*."}) {
    PlanEntry entry;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::string name = members[i].layer == "SwiGLUMLP" ? "MLP" : members[i].layer;
      entry.name += (i == 0 ? "" : "+") + name;
      entry.modules.push_back({name, root + patterns[i]});
    }
    entry.decision = Decision::kKernel;
    entry.kernel.emplace();
    entry.code = kernel;
    entry.from_config = true;
    plan.entries.push_back(std::move(entry));
  }
}

}  // namespace

void AddFusions(Plan& plan) {
  Add(plan, {{"norm", "RMSNorm", {}}, {"mlp", "SwiGLUMLP", {}}},
      {"post_attention_layernorm", "mlp"}, false);
  Add(plan, {{"q", "Linear", {}}, {"k", "Linear", {}}, {"v", "Linear", {}}},
      {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}, true);
  std::stable_sort(plan.entries.begin(), plan.entries.end(),
                   [](const PlanEntry& a, const PlanEntry& b) { return a.name < b.name; });
}

}  // namespace kernelmap
