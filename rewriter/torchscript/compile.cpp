#include "rewriter/torchscript/compile.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/frontend/error_report.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/sugared_value.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <set>

namespace kernelmap::torchscript {
namespace {

using torch::jit::GraphFunction;
using torch::jit::NamedValue;
using torch::jit::SourceRange;
using torch::jit::SugaredValue;
using SugaredPtr = std::shared_ptr<SugaredValue>;

// Stand for operations that are not known: any arguments, a tensor or a list of them.
constexpr const char* kAnyTensor = "kernelmap_any::tensor";
constexpr const char* kAnyTensors = "kernelmap_any::tensors";
constexpr size_t kMaxInlined = 10'000;  // nodes

void NeverRuns(torch::jit::Stack&) { TORCH_CHECK(false, "an operation that is not known"); }

const torch::jit::RegisterOperators registered(
    {torch::jit::Operator(std::string(kAnyTensor) + "(...) -> Tensor", NeverRuns,
                          c10::AliasAnalysisKind::CONSERVATIVE),
     torch::jit::Operator(std::string(kAnyTensors) + "(...) -> Tensor[]", NeverRuns,
                          c10::AliasAnalysisKind::CONSERVATIVE)});

struct AnyOperation : SugaredValue {
  explicit AnyOperation(bool list) : list(list) {}
  std::string kind() const override { return "an operation of the kernel"; }
  SugaredPtr call(const SourceRange& range, GraphFunction& function, at::ArrayRef<NamedValue> args,
                  at::ArrayRef<NamedValue> kwargs, size_t) override {
    torch::jit::Graph& graph = *function.graph();
    std::vector<torch::jit::Value*> inputs;
    for (const NamedValue& value : args) inputs.push_back(value.value(graph));
    for (const NamedValue& value : kwargs) inputs.push_back(value.value(graph));
    torch::jit::Node* node = graph.insertNode(
        graph.create(c10::Symbol::fromQualString(list ? kAnyTensors : kAnyTensor), inputs, 1));
    node->setSourceRange(range);
    node->output()->setType(list ? c10::TypePtr(c10::ListType::ofTensors())
                                 : c10::TypePtr(c10::TensorType::get()));
    return std::make_shared<torch::jit::SimpleValue>(node->output());
  }
  bool list;
};

// The operations of a kernel.
struct KernelNamespace : SugaredValue {
  enum class Mode { kKnown, kAnyTensor, kAnyTensors };
  Mode mode = Mode::kKnown;
  std::string library;
  KernelOps ops;

  std::string kind() const override { return "ops"; }
  SugaredPtr attr(const SourceRange& range, GraphFunction&, const std::string& field) override {
    if (mode != Mode::kKnown) return std::make_shared<AnyOperation>(mode == Mode::kAnyTensors);
    const auto it = ops.find(field);
    if (it == ops.end()) {
      throw(torch::jit::ErrorReport(range)
            << "the kernel has no operation " << field << " that runs here");
    }
    return std::make_shared<torch::jit::BuiltinFunction>(c10::Symbol::fromQualString(it->second),
                                                         std::nullopt);
  }
};

using KernelPtr = std::shared_ptr<KernelNamespace>;

// `torch.ops`, whose attributes are namespaces of operators.
struct OpsNamespace : SugaredValue {
  explicit OpsNamespace(KernelPtr kernel) : kernel(std::move(kernel)) {}
  std::string kind() const override { return "torch.ops"; }
  SugaredPtr attr(const SourceRange&, GraphFunction&, const std::string& field) override {
    if (kernel && (field == kernel->library || (kernel->library.empty() && field != "aten"))) {
      return kernel;
    }
    return std::make_shared<torch::jit::BuiltinModule>(field);
  }
  KernelPtr kernel;
};

// `torch.nn.functional`: the functions that are operations of the same name and parameters.
struct FunctionalNamespace : torch::jit::BuiltinModule {
  FunctionalNamespace() : BuiltinModule("aten") {}
  SugaredPtr attr(const SourceRange& range, GraphFunction& function,
                  const std::string& field) override {
    static const std::set<std::string> kSame = {"linear", "silu", "gelu", "relu", "sigmoid"};
    if (!kSame.contains(field)) {
      throw(torch::jit::ErrorReport(range) << "torch.nn.functional." << field << " is not known");
    }
    return BuiltinModule::attr(range, function, field);
  }
};

struct NnNamespace : SugaredValue {
  std::string kind() const override { return "torch.nn"; }
  SugaredPtr attr(const SourceRange& range, GraphFunction&, const std::string& field) override {
    if (field == "functional") return std::make_shared<FunctionalNamespace>();
    throw(torch::jit::ErrorReport(range) << "torch.nn." << field << " is not known");
  }
};

// `torch`, with its dtypes as constants.
struct TorchNamespace : torch::jit::BuiltinModule {
  explicit TorchNamespace(KernelPtr kernel) : BuiltinModule("aten"), kernel(std::move(kernel)) {}
  SugaredPtr attr(const SourceRange& range, GraphFunction& function,
                  const std::string& field) override {
    if (field == "ops") return std::make_shared<OpsNamespace>(kernel);
    if (field == "nn") return std::make_shared<NnNamespace>();
    static const std::map<std::string, c10::ScalarType> kTypes = {
        {"float32", c10::kFloat},  {"float16", c10::kHalf}, {"bfloat16", c10::kBFloat16},
        {"float64", c10::kDouble}, {"int64", c10::kLong},   {"int32", c10::kInt},
        {"int8", c10::kChar},      {"uint8", c10::kByte},   {"bool", c10::kBool},
        {"float", c10::kFloat},    {"half", c10::kHalf},    {"long", c10::kLong},
    };
    const auto it = kTypes.find(field);
    if (it == kTypes.end()) return BuiltinModule::attr(range, function, field);
    return std::make_shared<torch::jit::SimpleValue>(
        function.graph()->insertConstant(static_cast<std::int64_t>(it->second), range));
  }
  KernelPtr kernel;
};

struct SourceResolver : torch::jit::Resolver {
  explicit SourceResolver(KernelPtr kernel = nullptr) : kernel(std::move(kernel)) {}
  SugaredPtr resolveValue(const std::string& name, GraphFunction&, const SourceRange&) override {
    if (name == "torch") return std::make_shared<TorchNamespace>(kernel);
    if (name == "RuntimeError") return std::make_shared<torch::jit::ExceptionValue>(name);
    if (!kernel) return nullptr;
    if (name == "ops") return kernel;
    if (name == "F") return std::make_shared<FunctionalNamespace>();
    if (name == "math") return std::make_shared<torch::jit::BuiltinModule>("aten");
    if (name.ends_with("Error")) return std::make_shared<torch::jit::ExceptionValue>(name);
    return nullptr;
  }
  c10::TypePtr resolveType(const std::string& name, const SourceRange&) override {
    if (name == "torch.Tensor") return c10::TensorType::get();
    return nullptr;
  }
  KernelPtr kernel;
};

// How many nodes a function has once the calls in it are replaced by what they call.
size_t InlinedSize(torch::jit::Function* function, std::map<torch::jit::Function*, size_t>* known) {
  const auto [place, is_new] = known->emplace(function, 0);  // no function calls itself
  if (!is_new) return place->second;
  torch::jit::toGraphFunction(*function).ensure_defined();
  size_t size = 0;
  std::vector<torch::jit::Block*> blocks{torch::jit::toGraphFunction(*function).graph()->block()};
  while (!blocks.empty()) {
    torch::jit::Block* block = blocks.back();
    blocks.pop_back();
    for (torch::jit::Node* node : block->nodes()) {
      ++size;
      for (torch::jit::Block* inner : node->blocks()) blocks.push_back(inner);
      if (node->kind() != c10::prim::CallFunction) continue;
      const auto type = node->input(0)->type()->cast<c10::FunctionType>();
      if (type) size += InlinedSize(type->function(), known);
      if (size > kMaxInlined) return (*known)[function] = kMaxInlined + 1;
    }
  }
  return (*known)[function] = size;
}

CompiledSource Compile(const std::string& source, KernelPtr kernel) {
  CompiledSource compiled{.unit = std::make_shared<torch::jit::CompilationUnit>()};
  const auto functions =
      compiled.unit->define(c10::QualifiedName("kernelmap"), source,
                            std::make_shared<SourceResolver>(std::move(kernel)), nullptr);
  for (torch::jit::Function* function : functions) {
    if (function->name() == "forward") compiled.forward = function;
  }
  TORCH_CHECK(compiled.forward, "the source defines no forward");
  torch::jit::toGraphFunction(*compiled.forward).ensure_defined();
  std::map<torch::jit::Function*, size_t> known;
  TORCH_CHECK(InlinedSize(compiled.forward, &known) <= kMaxInlined,
              "its functions call each other too often");
  return compiled;
}

}  // namespace

std::string CompilerMessage(const std::exception& e) {
  const std::string text = e.what();
  const auto start = text.find_first_not_of(" \n");
  if (start == std::string::npos) return "it does not compile";
  std::string line = text.substr(start, text.find('\n', start) - start);
  while (!line.empty() && (line.back() == ':' || line.back() == ' ')) line.pop_back();
  if (line == "stoll" || line == "stod") return "a number that cannot be read";
  return line;
}

CompiledSource CompileSource(const std::string& source) { return Compile(source, nullptr); }

CompiledSource CompileKernelSource(const std::string& source, const std::string& library,
                                   const KernelOps& ops) {
  auto kernel = std::make_shared<KernelNamespace>();
  kernel->library = library;
  kernel->ops = ops;
  return Compile(source, kernel);
}

std::string KernelSourceProblem(const std::string& source) {
  std::string problem;
  for (const auto mode : {KernelNamespace::Mode::kAnyTensor, KernelNamespace::Mode::kAnyTensors}) {
    auto kernel = std::make_shared<KernelNamespace>();
    kernel->mode = mode;
    try {
      Compile(source, kernel);
      return "";
    } catch (const std::exception& e) {
      if (problem.empty()) problem = CompilerMessage(e);
    }
  }
  return problem;
}

}  // namespace kernelmap::torchscript
