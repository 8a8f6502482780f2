#include "rewriter/modules/layer.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include "rewriter/modules/kernel_program.h"
#include "rewriter/torchscript/compile.h"

namespace kernelmap {
namespace {

// Not through a graph executor, which would specialise the code to what it saw first, for nothing.
class Program : public KernelProgram {
 public:
  Program(std::string ref, torchscript::CompiledSource source)
      : ref_(std::move(ref)), source_(std::move(source)), code_(Inlined(), ref_) {}

  const std::string& ref() const override { return ref_; }

  c10::IValue Run(std::vector<c10::IValue> arguments) const override {
    source_.forward->getSchema().checkAndNormalizeInputs(arguments);
    try {
      torch::jit::InterpreterState(code_).run(arguments);
    } catch (const c10::Error&) {
      throw;
    } catch (const std::exception& error) {
      TORCH_CHECK(false, ref_, ": ", What(error.what()));
    }
    TORCH_CHECK(arguments.size() == 1, ref_, ": the code left ", arguments.size(), " results");
    return arguments[0];
  }

 private:
  // What the operation said, without where the interpreter was.
  static std::string What(const std::string& text) {
    constexpr std::string_view kError = "Error: ";
    const auto start = text.rfind(kError);
    std::string what = start == std::string::npos ? text : text.substr(start + kError.size());
    while (!what.empty() && what.back() == '\n') what.pop_back();
    return what;
  }

  std::shared_ptr<torch::jit::Graph> Inlined() const {
    auto graph = torch::jit::toGraphFunction(*source_.forward).graph()->copy();
    torch::jit::Inline(*graph);
    return graph;
  }
  std::string ref_;
  torchscript::CompiledSource source_;
  torch::jit::Code code_;
};

}  // namespace

KernelProgram::~KernelProgram() = default;

std::shared_ptr<const KernelProgram> KernelProgram::Compile(const std::string& ref,
                                                            const std::string& source) {
  return std::make_shared<const Program>(ref, torchscript::CompileSource(source));
}

KernelLayer::KernelLayer(std::string layer, std::string form)
    : layer_(std::move(layer)), form_(std::move(form)) {}
KernelLayer::~KernelLayer() = default;
KernelLayer::KernelLayer(const KernelLayer&) = default;
KernelLayer& KernelLayer::operator=(const KernelLayer&) = default;

std::string KernelLayer::kernel_ref() const { return program_ ? program_->ref() : ""; }

at::Tensor KernelLayer::RunKernel(std::vector<c10::IValue> arguments) const {
  TORCH_CHECK(program_, "kernelmap: no kernel stands for the layer ", layer_);
  return program_->Run(std::move(arguments)).toTensor();
}

}  // namespace kernelmap
