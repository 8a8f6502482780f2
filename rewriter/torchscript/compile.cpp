#include "rewriter/torchscript/compile.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/sugared_value.h>

#include <map>

namespace kernelmap::torchscript {
namespace {

using torch::jit::GraphFunction;
using torch::jit::SourceRange;
using torch::jit::SugaredValue;

// `torch.ops`, whose attributes are namespaces of operators.
struct OpsNamespace : SugaredValue {
  std::string kind() const override { return "torch.ops"; }
  std::shared_ptr<SugaredValue> attr(const SourceRange&, GraphFunction&,
                                     const std::string& field) override {
    return std::make_shared<torch::jit::BuiltinModule>(field);
  }
};

// `torch`, with its dtypes as constants.
struct TorchNamespace : torch::jit::BuiltinModule {
  TorchNamespace() : BuiltinModule("aten") {}
  std::shared_ptr<SugaredValue> attr(const SourceRange& range, GraphFunction& function,
                                     const std::string& field) override {
    if (field == "ops") return std::make_shared<OpsNamespace>();
    static const std::map<std::string, c10::ScalarType> kTypes = {
        {"float32", c10::kFloat},  {"float16", c10::kHalf}, {"bfloat16", c10::kBFloat16},
        {"float64", c10::kDouble}, {"int64", c10::kLong},   {"bool", c10::kBool},
    };
    const auto it = kTypes.find(field);
    if (it == kTypes.end()) return BuiltinModule::attr(range, function, field);
    return std::make_shared<torch::jit::SimpleValue>(
        function.graph()->insertConstant(static_cast<std::int64_t>(it->second), range));
  }
};

struct SourceResolver : torch::jit::Resolver {
  std::shared_ptr<SugaredValue> resolveValue(const std::string& name, GraphFunction&,
                                             const SourceRange&) override {
    if (name == "torch") return std::make_shared<TorchNamespace>();
    if (name == "RuntimeError") return std::make_shared<torch::jit::ExceptionValue>(name);
    return nullptr;
  }
  c10::TypePtr resolveType(const std::string&, const SourceRange&) override { return nullptr; }
};

}  // namespace

CompiledSource CompileSource(const std::string& source) {
  CompiledSource compiled{.unit = std::make_shared<torch::jit::CompilationUnit>()};
  const auto functions = compiled.unit->define(c10::QualifiedName("kernelmap"), source,
                                               std::make_shared<SourceResolver>(), nullptr);
  for (torch::jit::Function* function : functions) {
    if (function->name() == "forward") compiled.forward = function;
  }
  TORCH_CHECK(compiled.forward, "the source defines no forward");
  torch::jit::toGraphFunction(*compiled.forward).ensure_defined();
  return compiled;
}

}  // namespace kernelmap::torchscript
