#include "rewriter/verify_probe.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>

namespace kernelmap {
namespace {

struct ActiveProbe {
  std::multimap<const void*, size_t> objects;  // module object -> index of its path
  ProbeCallback callback;
};

// Modules that share a class share its graph: the op tells them apart by the object it gets.
std::mutex active_mutex;
std::optional<ActiveProbe> active;

void Probe(torch::jit::Stack& stack) {
  c10::IValue output = torch::jit::pop(stack);
  const c10::IValue module = torch::jit::pop(stack);
  const std::lock_guard<std::mutex> lock(active_mutex);
  if (!active || !module.isObject()) return;
  const auto [begin, end] = active->objects.equal_range(module.toObject().get());
  for (auto it = begin; it != end; ++it) active->callback(it->second, output);
}

// The alias analysis keeps the call, and its place, in every optimisation.
const torch::jit::RegisterOperators registered(
    {torch::jit::Operator("kernelmap_verify::probe(Any module, Any output) -> ()", Probe,
                          c10::AliasAnalysisKind::CONSERVATIVE)});

std::optional<torch::jit::Module> ModuleAt(const torch::jit::Module& root,
                                           const std::string& path) {
  torch::jit::Module module = root;
  std::istringstream parts(path);
  for (std::string part; std::getline(parts, part, '.');) {
    if (!module.hasattr(part) || !module.attr(part).isModule()) return std::nullopt;
    module = module.attr(part).toModule();
  }
  return module;
}

void InsertProbe(torch::jit::Graph& graph) {
  if (graph.inputs().empty() || graph.outputs().size() != 1) return;
  torch::jit::WithInsertPoint here(graph.return_node());
  graph.insertNode(graph.create(c10::Symbol::fromQualString("kernelmap_verify::probe"),
                                {graph.inputs()[0], graph.outputs()[0]}, 0));
}

}  // namespace

void InsertProbes(const torch::jit::Module& model, const std::vector<std::string>& paths) {
  std::set<const c10::Type*> done;
  for (const std::string& path : paths) {
    const auto module = ModuleAt(model, path);
    if (!module || !done.insert(module->type().get()).second) continue;
    // A module that tracing saw called twice has a forward1 beside its forward.
    for (torch::jit::Function* method : module->type()->methods()) {
      if (method->name().starts_with("forward")) {
        InsertProbe(*torch::jit::toGraphFunction(*method).graph());
      }
    }
  }
}

ProbeScope::ProbeScope(const torch::jit::Module& model, const std::vector<std::string>& paths,
                       ProbeCallback callback) {
  ActiveProbe probe{{}, std::move(callback)};
  for (size_t i = 0; i < paths.size(); ++i) {
    if (const auto module = ModuleAt(model, paths[i])) {
      probe.objects.emplace(module->_ivalue().get(), i);
    }
  }
  const std::lock_guard<std::mutex> lock(active_mutex);
  active = std::move(probe);
}

ProbeScope::~ProbeScope() {
  const std::lock_guard<std::mutex> lock(active_mutex);
  active.reset();
}

}  // namespace kernelmap
