#include "tests/rewriter/mutants.h"

#include <ATen/Parallel.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/script.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <sstream>

#include "rewriter/rewrite.h"
#include "tests/rewriter/plan_for_all.h"
#include "tests/rewriter/plan_for_fusions.h"

namespace kernelmap {
namespace {

namespace aten = c10::aten;
using torch::jit::Graph;
using torch::jit::Module;
using torch::jit::Value;
using TorchNode = torch::jit::Node;
using Random = std::mt19937_64;

Module Load(const std::string& bytes) {
  std::istringstream in(bytes);
  torch::jit::ExtraFilesMap extra_files;
  // Source positions are most of the work of loading, and nobody reads them here.
  return torch::jit::load(in, std::nullopt, extra_files, /*load_debug_files=*/false);
}

std::string Save(const Module& module) {
  std::ostringstream out;
  module.save(out);
  return std::move(out).str();
}

template <typename T>
const T& Pick(const std::vector<T>& list, Random& random) {
  return list[random() % list.size()];
}

// One node, with the tensors that are there before it.
struct Place {
  Graph* graph;
  TorchNode* node;
  std::vector<Value*> earlier;
};

bool IsTensor(const Value* value) { return value->type()->kind() == c10::TypeKind::TensorType; }

std::vector<int> Inputs(const Place& p, const std::function<bool(Value*)>& test) {
  std::vector<int> found;
  for (std::size_t i = 0; i < p.node->inputs().size(); ++i) {
    if (test(p.node->input(i))) found.push_back(static_cast<int>(i));
  }
  return found;
}

// Each mutation returns what it did, or nothing where it does not apply.
using Mutation = std::function<std::optional<std::string>(const Place&, Random&)>;

std::optional<std::string> ChangeOperation(const Place& p, Random& random) {
  static const std::vector<std::string> binary = {"add", "sub", "mul"};
  static const std::vector<std::string> unary = {"tanh", "sigmoid", "silu", "relu",
                                                 "neg",  "rsqrt",   "exp",  "sqrt"};
  const std::string name = p.node->kind().toUnqualString();
  const bool is_binary = std::count(binary.begin(), binary.end(), name) > 0;
  if (!is_binary && std::count(unary.begin(), unary.end(), name) == 0) return std::nullopt;
  const std::string other = Pick(is_binary ? binary : unary, random);
  if (other == name) return std::nullopt;
  std::vector<Value*> inputs(p.node->inputs().begin(), p.node->inputs().end());
  if (other == "mul" && inputs.size() == 3) inputs.pop_back();
  if (name == "mul" && inputs.size() == 2) inputs.push_back(p.graph->insertConstant(1));
  TorchNode* node = p.graph->insertNode(p.graph->create(c10::Symbol::aten(other), inputs, 1));
  p.node->output()->replaceAllUsesWith(node->output());
  return name + " becomes " + other;
}

std::optional<std::string> ChangeInteger(const Place& p, Random& random) {
  const auto candidates = Inputs(p, [](Value* v) {
    const auto c = torch::jit::toIValue(v);
    return c && c->isInt();
  });
  const c10::FunctionSchema* schema = p.node->maybeSchema();
  if (candidates.empty() || !schema) return std::nullopt;
  const int i = Pick(candidates, random);
  static const std::vector<std::int64_t> values = {-2, -1, 0, 1, 2, 3, 6, 15};
  static const std::vector<std::int64_t> dtypes = {5, 6, 7, 15};
  const bool dtype = schema->arguments()[i].name() == "dtype";
  const std::int64_t value = Pick(dtype ? dtypes : values, random);
  p.node->replaceInput(i, p.graph->insertConstant(value));
  return std::string(p.node->kind().toUnqualString()) + ": " + schema->arguments()[i].name() +
         " becomes " + std::to_string(value);
}

std::optional<std::string> ChangeList(const Place& p, Random& random) {
  const auto candidates = Inputs(p, [](Value* v) {
    const auto c = torch::jit::toIValue(v);
    return c && c->isIntList() && c->toIntVector().size() == 1;
  });
  if (candidates.empty()) return std::nullopt;
  static const std::vector<std::int64_t> values = {-2, 0, 1};
  const std::vector<std::int64_t> list = {Pick(values, random)};
  p.node->replaceInput(Pick(candidates, random), p.graph->insertConstant(list));
  return std::string(p.node->kind().toUnqualString()) + ": another list";
}

std::optional<std::string> ChangeScalar(const Place& p, Random& random) {
  const auto candidates = Inputs(p, [](Value* v) {
    const auto c = torch::jit::toIValue(v);
    return c && ((c->isTensor() && c->toTensor().dim() == 0) || c->isDouble());
  });
  if (candidates.empty()) return std::nullopt;
  const int i = Pick(candidates, random);
  const auto c = *torch::jit::toIValue(p.node->input(i));
  const bool twice = random() % 2 == 0;
  const c10::IValue value = c.isDouble() ? c10::IValue(twice ? c.toDouble() * 2 : c.toDouble() + 1)
                                         : c10::IValue(twice ? c.toTensor() * 2 : c.toTensor() + 1);
  p.node->replaceInput(i, p.graph->insertConstant(value));
  return std::string(p.node->kind().toUnqualString()) + ": another scalar";
}

std::optional<std::string> SwapOperands(const Place& p, Random&) {
  const auto tensors = Inputs(p, IsTensor);
  if (tensors.size() < 2) return std::nullopt;
  Value *a = p.node->input(tensors[0]), *b = p.node->input(tensors[1]);
  p.node->replaceInput(tensors[0], b);
  p.node->replaceInput(tensors[1], a);
  return std::string(p.node->kind().toUnqualString()) + ": operands swapped";
}

std::optional<std::string> Rewire(const Place& p, Random& random) {
  const auto tensors = Inputs(p, IsTensor);
  if (tensors.empty() || p.earlier.empty()) return std::nullopt;
  p.node->replaceInput(Pick(tensors, random), Pick(p.earlier, random));
  return std::string(p.node->kind().toUnqualString()) + ": another operand";
}

std::optional<std::string> InsertInPlace(const Place& p, Random& random) {
  if (p.earlier.empty()) return std::nullopt;
  static const std::vector<std::string> names = {"mul_", "add_", "neg_", "tanh_"};
  const std::string name = Pick(names, random);
  Value* value = Pick(p.earlier, random);
  const c10::Symbol symbol = c10::Symbol::aten(name);
  if (name == "mul_" || name == "add_") {
    p.graph->insert(symbol, {value, 1.5});
  } else {
    p.graph->insert(symbol, {value});
  }
  return name + " before " + p.node->kind().toUnqualString();
}

std::optional<std::string> InsertCast(const Place& p, Random& random) {
  if (p.earlier.empty()) return std::nullopt;
  Value* value = Pick(p.earlier, random);
  const std::int64_t dtype = random() % 2 == 0 ? 15 : 6;
  Value* cast = p.graph->insert(aten::to, {value, dtype, false, false, c10::IValue()});
  bool used = false;
  for (std::size_t i = 0; i < p.node->inputs().size(); ++i) {
    if (p.node->input(i) != value) continue;
    p.node->replaceInput(i, cast);
    used = true;
  }
  if (!used) return std::nullopt;
  return "a cast before " + std::string(p.node->kind().toUnqualString());
}

std::optional<std::string> InsertOperation(const Place& p, Random& random) {
  const auto tensors = Inputs(p, IsTensor);
  if (tensors.empty()) return std::nullopt;
  const int i = Pick(tensors, random);
  static const std::vector<std::string> names = {"clamp", "abs",    "neg",
                                                 "relu",  "detach", "contiguous"};
  const std::string name = Pick(names, random);
  Value* value = p.node->input(i);
  Value* result = name == "clamp" ? p.graph->insert(aten::clamp, {value, -0.5, 0.5})
                                  : p.graph->insert(c10::Symbol::aten(name), {value});
  p.node->replaceInput(i, result);
  return name + " before " + std::string(p.node->kind().toUnqualString());
}

std::optional<std::string> DropOperation(const Place& p, Random&) {
  const auto tensors = Inputs(p, IsTensor);
  if (tensors.empty() || p.node->outputs().size() != 1 || !IsTensor(p.node->output())) {
    return std::nullopt;
  }
  p.node->output()->replaceAllUsesWith(p.node->input(tensors[0]));
  return std::string(p.node->kind().toUnqualString()) + " dropped";
}

const std::vector<Mutation>& Mutations() {
  static const std::vector<Mutation> mutations = {
      ChangeOperation, ChangeInteger, ChangeList, ChangeScalar,    SwapOperands,  Rewire,
      Rewire,          InsertInPlace, InsertCast, InsertOperation, DropOperation,
  };
  return mutations;
}

struct Mutant {
  std::string bytes, path, what;
};

std::optional<Mutant> MakeMutant(const std::string& original, Random& random) {
  Module module = Load(original);
  std::vector<std::pair<std::string, Graph*>> graphs;
  for (const auto& item : module.named_modules()) {
    const auto method = item.value.find_method("forward");
    if (!method) continue;
    // Linear layers and containers are not what layers are made of.
    Graph* graph = torch::jit::toGraphFunction(method->function()).graph().get();
    int operations = 0;
    for (TorchNode* node : graph->nodes()) operations += node->kind().is_aten() ? 1 : 0;
    if (operations >= 2) graphs.emplace_back(item.name, graph);
  }
  if (graphs.empty()) return std::nullopt;
  const auto& [path, graph] = Pick(graphs, random);
  std::vector<TorchNode*> nodes;
  for (TorchNode* node : graph->nodes()) {
    if (node->kind().is_aten()) nodes.push_back(node);
  }
  Place place{graph, Pick(nodes, random), {}};
  for (Value* input : graph->inputs()) {
    if (IsTensor(input)) place.earlier.push_back(input);
  }
  for (TorchNode* node : graph->nodes()) {
    if (node == place.node) break;
    if (!node->kind().is_aten()) continue;
    for (Value* output : node->outputs()) {
      if (IsTensor(output)) place.earlier.push_back(output);
    }
  }
  torch::jit::WithInsertPoint point(place.node);
  try {
    const auto what = Pick(Mutations(), random)(place, random);
    if (!what) return std::nullopt;
    graph->lint();
    return Mutant{Save(module), path, *what};
  } catch (const std::exception&) {
    return std::nullopt;  // not a program
  }
}

// What a model takes: pixels where its first weight is that of a convolution, else token ids.
at::Tensor Input(const Module& module, int which) {
  torch::manual_seed(1);
  const at::Tensor first = *module.parameters().begin();
  for (const at::Tensor& parameter : module.parameters()) {
    if (parameter.dim() == 4) {
      return torch::rand({which == 0 ? 2 : 3, 3, 32, 32}).to(first.scalar_type());
    }
  }
  return which == 0 ? torch::randint(1, 100, {2, 8}) : torch::randint(1, 100, {3, 13});
}

bool Same(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() &&
         at::equal(a.nan_to_num(7), b.nan_to_num(7));
}

std::optional<at::Tensor> Run(Module& module, const at::Tensor& input) {
  try {
    return module.forward({input.clone()}).toTensor();  // a mutant may write to its input
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

class Runner {
 public:
  explicit Runner(const MutantRun& run) : run_(run), plan_(PlanForAll()) {
    if (run.fusions) AddFusions(plan_);
    for (const std::string& path : run.models) {
      Module module = torch::jit::load(path);
      originals_.push_back(Save(module));
      for (int shape = 0; shape < 2; ++shape) {
        inputs_.push_back(Input(module, shape));
        outputs_.push_back(Run(module, inputs_.back()).value());
      }
    }
  }

  MutantResult RunAll() {
    for (int i = 0; i < run_.count;) {
      // Each mutant has a seed of its own, so that one can be made again alone.
      const std::uint64_t seed = run_.seed + static_cast<std::uint64_t>(attempts_++);
      Random random(seed);
      const std::size_t which = random() % originals_.size();
      const auto mutant = MakeMutant(originals_[which], random);
      if (!mutant) {
        if (run_.count == 1) break;
        continue;
      }
      ++i;
      Try(*mutant, which, seed);
    }
    return result_;
  }

 private:
  void Wrong(const Mutant& mutant, std::size_t which, std::uint64_t seed, const std::string& how) {
    ++result_.wrong;
    if (run_.check || run_.verbose) {
      std::printf("wrong: seed %llu, %s, %s: %s: %s; accepted%s\n",
                  static_cast<unsigned long long>(seed), run_.models[which].c_str(),
                  mutant.path.c_str(), mutant.what.c_str(), how.c_str(), accepted_.c_str());
    }
  }

  void Try(const Mutant& mutant, std::size_t which, std::uint64_t seed) {
    ++result_.ran;
    Module rewritten = Load(mutant.bytes);
    SiteOptions options{.check = run_.check, .self_mode = true};
    accepted_.clear();
    bool touched = false;
    int accepted = 0;
    std::string bytes;
    try {
      for (const Site& site : RewriteModule(rewritten, plan_, options).sites) {
        if (site.action != Action::kReplaced && site.action != Action::kFused) continue;
        ++accepted;
        const bool member = std::any_of(
            site.members.begin(), site.members.end(),
            [&](const std::string& m) { return (mutant.path + ".").starts_with(m + "."); });
        if (member || site.path == mutant.path) {
          touched = true;
          accepted_ += " " + site.name + "/" + site.reference;
        }
      }
      result_.sites += accepted;
      if (accepted == 0) return;  // nothing was changed, so there is nothing to compare
      bytes = Save(rewritten);
    } catch (const std::exception& e) {
      return Wrong(mutant, which, seed, std::string("refused by TorchScript: ") + e.what());
    }
    result_.touched += touched ? 1 : 0;
    Module stock = Load(mutant.bytes), result = Load(bytes);
    bool changed = false, raised = false;
    for (int shape = 0; shape < 2; ++shape) {
      const std::size_t at = which * 2 + static_cast<std::size_t>(shape);
      const at::Tensor& input = inputs_[at];
      // Both run even where one raises: a mutant may have changed its buffers before it did.
      const auto before = Run(stock, input);
      const auto after = Run(result, input);
      if (!before) {
        raised = true;
        continue;
      }
      if (!after) return Wrong(mutant, which, seed, "the rewritten one raises");
      changed = changed || !Same(outputs_[at], *before);
      if (!Same(*before, *after)) return Wrong(mutant, which, seed, "differs");
    }
    result_.changed += changed ? 1 : 0;
    result_.raised += raised ? 1 : 0;
    if (run_.verbose) {
      std::printf("seed %llu %s %s: %s;%s\n", static_cast<unsigned long long>(seed),
                  run_.models[which].c_str(), mutant.path.c_str(), mutant.what.c_str(),
                  accepted_.c_str());
    }
  }

  const MutantRun& run_;
  Plan plan_;
  std::vector<std::string> originals_;
  std::vector<at::Tensor> inputs_, outputs_;  // of the originals, two shapes each
  MutantResult result_;
  std::string accepted_;
  std::uint64_t attempts_ = 0;
};

}  // namespace

MutantResult RunMutants(const MutantRun& run) {
  c10::InferenceMode inference;
  // Optimisation would make each run compile: these run twice at most.
  torch::jit::setGraphExecutorOptimize(false);
  at::set_num_threads(1);
  return Runner(run).RunAll();
}

}  // namespace kernelmap
