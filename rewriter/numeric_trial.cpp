#include "rewriter/numeric_trial.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "compiler/store/embedded_kernels.h"
#include "rewriter/error_text.h"
#include "rewriter/modules/kernels.h"
#include "rewriter/numeric_gradients.h"
#include "rewriter/numeric_run.h"
#include "rewriter/torchscript/compile.h"
#include "rewriter/used_kernels.h"
#include "rewriter/verify_compare.h"

namespace kernelmap {
namespace {

using expr::Refusal;
using torch::jit::Graph;

constexpr size_t kLeastSamples = 3;    // fewer show nothing
constexpr double kGradientTimes = 10;  // what gradients may err more than results: they are sums

// What is allowed where a kernel's manifest says nothing: |a - b| over max |b|.
// The kernel says how exact it is. A tolerance with which nothing would be told apart is no word on
// that: it must not decide what is proved.
double Tolerance(const Kernel& kernel, at::ScalarType dtype) {
  constexpr double kCoarsest = 0.05;
  const auto said = kernel.tolerance.find(expr::DTypeName(static_cast<expr::DType>(dtype)));
  const bool fine =
      said != kernel.tolerance.end() && said->second >= 0 && said->second <= kCoarsest;
  if (fine) return said->second;
  return dtype == at::kBFloat16 ? 0.016 : dtype == at::kHalf ? 0.002 : 1e-5;
}

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", value);
  return text;
}

bool AllFinite(const at::Tensor& tensor) {
  return !tensor.is_floating_point() || tensor.isfinite().all().item<bool>();
}

std::string Described(const at::Tensor& t) {
  std::string text = expr::DTypeName(static_cast<expr::DType>(t.scalar_type())) + "[";
  for (int64_t i = 0; i < t.dim(); ++i) text += (i ? ", " : "") + std::to_string(t.size(i));
  return text + "]";
}

// What the last dimension of an input may be: what parameters have, or, where there are none,
// anything.
std::vector<int64_t> Features(const Tensors& tensors) {
  std::vector<int64_t> features;
  const auto add = [&](int64_t size) {
    if (size > 1 && std::find(features.begin(), features.end(), size) == features.end()) {
      features.push_back(size);
    }
  };
  for (const at::Tensor& t : tensors) {
    if (t.dim() > 0) add(t.size(-1));
  }
  for (const at::Tensor& t : tensors) {
    if (t.dim() > 0) add(t.size(0));
  }
  return features;
}

}  // namespace

struct NumericTrials::Program {
  torchscript::CompiledSource source;
  std::shared_ptr<Graph> graph;
  std::optional<torch::jit::Code> code;
  std::string problem;  // why it cannot run
};

struct NumericTrials::Stock {
  std::optional<Refusal> refusal;
  ModuleObject object;  // a copy: what runs cannot change the model
  Tensors tensors;      // those of the model
  struct Result {
    Sample sample;
    Tensors outputs;                 // of a tuple, its elements
    std::vector<bool> shared;        // for each, whether it may be the memory of an input
    std::vector<Tensors> gradients;  // of each, for training
  };
  std::vector<Result> results;
};

NumericTrials::NumericTrials(const Plan& plan, const torchscript::Imported& imported,
                             const expr::Arena& arena, bool trains)
    : plan_(plan), imported_(imported), arena_(arena), trains_(trains) {}
NumericTrials::~NumericTrials() = default;

namespace {

// Of a tuple the elements, in its order; others are left undefined.
Tensors Elements(const c10::IValue& value) {
  if (value.isTensor()) return {value.toTensor()};
  Tensors out;
  if (!value.isTuple()) return out;
  for (const c10::IValue& element : value.toTupleRef().elements()) {
    out.push_back(element.isTensor() ? element.toTensor() : at::Tensor());
  }
  return out;
}

Tensors Defined(const Tensors& tensors) {
  Tensors out;
  for (const at::Tensor& t : tensors) {
    if (t.defined()) out.push_back(t);
  }
  return out;
}

// Whether a result may be the memory of an input.
std::vector<bool> Shared(const Tensors& inputs, const Tensors& outputs) {
  std::vector<bool> shared;
  for (const at::Tensor& output : outputs) {
    shared.push_back(std::any_of(inputs.begin(), inputs.end(), [&](const at::Tensor& input) {
      return output.defined() && output.is_alias_of(input);
    }));
  }
  return shared;
}

// Runs stock code twice on a sample. False where the code does not take it; `problem` then says
// why. A refusal where it shows that nothing can be shown.
bool RunTwice(const torch::jit::Code& code, const ModuleObject& object, const Sample& sample,
              Tensors* outputs, std::vector<bool>* shared, std::optional<Refusal>* refusal,
              std::string* problem) {
  const Tensors kept = Clones(sample.inputs);
  torch::jit::Stack stack{object};
  for (const at::Tensor& input : sample.inputs) stack.emplace_back(input);
  bool ran = false;
  Tensors again;
  try {
    *outputs = Elements(RunCode(code, stack));
    *shared = Shared(sample.inputs, *outputs);
    *outputs = Clones(*outputs);
    again = Elements(RunCode(code, stack));
    ran = true;
  } catch (const std::exception& e) {
    if (problem->empty()) *problem = "at " + sample.label + ": " + LastErrorLine(e);
  }
  if (!SameBytes(sample.inputs, kept)) {
    *refusal = Refusal{"mutation", "the code changes an input", ""};
  } else if (ran && !SameBytes(Defined(*outputs), Defined(again))) {
    *refusal = Refusal{"random_result", "at " + sample.label, ""};
  }
  return ran;
}

// The inputs, which want gradients.
Tensors WithGradients(const Tensors& inputs) {
  Tensors leaves;
  for (const at::Tensor& t : inputs) leaves.push_back(t.clone().set_requires_grad(true));
  return leaves;
}

// Of each result.
std::vector<Tensors> StockGradients(const torch::jit::Code& code, const ModuleObject& object,
                                    const Sample& sample) {
  const Tensors inputs = WithGradients(sample.inputs);
  const at::AutoGradMode on(true);
  torch::jit::Stack stack{object};
  for (const at::Tensor& input : inputs) stack.emplace_back(input);
  std::vector<Tensors> gradients;
  for (const at::Tensor& output : Elements(RunCode(code, stack))) {
    gradients.push_back(output.defined() ? GradientsOf(output, Differentiated(inputs, object))
                                         : Tensors{});
  }
  return gradients;
}

}  // namespace

const NumericTrials::Stock& NumericTrials::StockOf(const expr::Frame& frame) {
  std::unique_ptr<Stock>& stock = stock_[&frame];
  if (stock) return *stock;
  stock = std::make_unique<Stock>();
  const auto refuse = [&](Refusal refusal) -> const Stock& {
    stock->refusal = std::move(refusal);
    stock->results.clear();
    return *stock;
  };
  auto facts = FactsOfInputs(arena_, frame);
  if (const auto* refusal = std::get_if<Refusal>(&facts)) return refuse(*refusal);
  const auto& inputs = std::get<std::vector<InputFacts>>(facts);
  if (inputs.empty()) return refuse({"signature", "forward takes no input", ""});
  try {
    stock->object = imported_.objects[frame.object]->deepcopy();
    if (trains_) PrepareForGradients(stock->object);
    stock->tensors = Clones(TensorsOf(stock->object));
    const torch::jit::Code code(WithoutCalls(*imported_.graphs[frame.graph].graph), "stock");
    std::optional<Refusal> refusal;
    std::string problem;
    std::vector<int64_t> features = Features(stock->tensors);
    const bool any = features.empty();
    if (any) features = {16, 7, 34, 1};
    for (const int64_t feature : features) {
      std::vector<Sample> samples = MakeSamples(inputs, feature);
      const size_t count = samples.size();
      if (trains_) {  // after train(), and after eval()
        for (size_t i = 0; i < count; ++i) samples.push_back(samples[i]);
      }
      for (size_t i = 0; i < samples.size(); ++i) {
        Sample& sample = samples[i];
        if (trains_) SetTraining(stock->object, i < count);
        Stock::Result result;
        const bool ran = RunTwice(code, stock->object, sample, &result.outputs, &result.shared,
                                  &refusal, &problem);
        // Memory that it keeps makes results differ too.
        if (refusal && !SameBytes(TensorsOf(stock->object), stock->tensors)) break;
        if (refusal) return refuse(*refusal);
        if (ran && trains_) result.gradients = StockGradients(code, stock->object, sample);
        result.sample = std::move(sample);
        if (ran) stock->results.push_back(std::move(result));
      }
      if (!any && stock->results.size() >= kLeastSamples) break;
    }
    if (!SameBytes(TensorsOf(stock->object), stock->tensors)) {
      return refuse({"mutation", "the code changes a parameter or buffer", ""});
    }
    if (stock->results.size() < kLeastSamples) return refuse({"not_run", problem, ""});
  } catch (const std::exception& e) {
    return refuse({"not_run", LastErrorLine(e), ""});
  }
  return *stock;
}

const NumericTrials::Program& NumericTrials::ProgramOf(const PlanEntry& entry, const Kernel& kernel,
                                                       const Implementation& implementation) {
  std::unique_ptr<Program>& program = programs_[implementation.source];
  if (program) return *program;
  program = std::make_unique<Program>();
  try {
    if (implementation.adapter) {
      EmbeddedKernels kernels;
      kernels.device = plan_.target.device;
      kernels.kernels = {{*kernel.origin,
                          entry.kernel->ref,
                          entry.kernel->variant.value_or(""),
                          {*implementation.adapter}}};
      LoadKernels(kernels, TrustOf(plan_));
    }
    program->source = torchscript::CompileSource(implementation.source);
    program->graph = WithoutCalls(*torch::jit::toGraphFunction(*program->source.forward).graph());
    program->code.emplace(program->graph, "kernel");
  } catch (const std::exception& e) {
    program->problem = LastErrorLine(e);
  }
  return *program;
}

namespace {

// The operands of an edit, for one sample. Throws where one has another type than the code takes.
torch::jit::Stack Operands(const expr::Edit& edit, const expr::Block& forward, const Graph& code,
                           const ModuleObject& object, const Sample& sample) {
  torch::jit::Stack stack;
  for (size_t i = 0; i < edit.operands.size(); ++i) {
    const expr::Operand& operand = edit.operands[i];
    c10::IValue value;
    switch (operand.from) {
      case expr::Operand::From::kValue: {
        const auto at = std::find(forward.inputs.begin(), forward.inputs.end(), operand.value);
        value = sample.inputs.at(static_cast<size_t>(at - forward.inputs.begin()) - 1);
        break;
      }
      case expr::Operand::From::kInt:
        value = operand.integer;
        break;
      case expr::Operand::From::kFloat:
        value = operand.real;
        break;
      case expr::Operand::From::kAttribute: {
        value = object;
        for (const std::string& name : operand.path) value = value.toObject()->getAttr(name);
        break;
      }
    }
    const c10::TypePtr& wanted = code.inputs().at(i)->type();
    TORCH_CHECK(value.type()->isSubtypeOf(*wanted), "an operand is ", value.type()->str(), ", not ",
                wanted->str());
    stack.push_back(std::move(value));
  }
  TORCH_CHECK(stack.size() == code.inputs().size(), "the kernel takes more operands");
  return stack;
}

// Which of forward's results the edit replaces.
size_t ResultIndex(const expr::Edit& edit) {
  if (!edit.before) return 0;
  const std::vector<int>& all = edit.before->inputs;
  return static_cast<size_t>(std::find(all.begin(), all.end(), edit.replaced[0]) - all.begin());
}

}  // namespace

TrialResult NumericTrials::Try(const PlanEntry& entry, const Kernel& kernel,
                               const expr::Frame& frame, const NamedEdit& named) {
  if (plan_.target.device != "cpu") {
    return {Refusal{"not_run", "samples run on the CPU, the target is " + plan_.target.device, ""}};
  }
  const at::NoGradGuard no_grad;
  const KeepRandomState keep;
  const Stock& stock = StockOf(frame);
  if (stock.refusal) return {*stock.refusal};
  const Program& program = ProgramOf(entry, kernel, *named.implementation);
  if (!program.problem.empty()) return {Refusal{"not_run", program.problem, ""}};
  const expr::Block& forward = imported_.program.graphs[frame.graph].body;
  const size_t index = ResultIndex(named.edit);
  TrialResult result{std::nullopt, 0};
  std::string worst;
  for (const Stock::Result& ran : stock.results) {
    const std::string& label = ran.sample.label;
    const at::Tensor& expected = ran.outputs.at(index);
    if (ran.shared.at(index)) {
      return {Refusal{"mutation", "the result may be the memory of an input", ""}};
    }
    const Tensors inputs = trains_ ? WithGradients(ran.sample.inputs) : Clones(ran.sample.inputs);
    at::Tensor found;
    Tensors gradients;
    try {
      const at::AutoGradMode mode(trains_);
      found = RunCode(*program.code,
                      Operands(named.edit, forward, *program.graph, stock.object, {inputs, label}))
                  .toTensor();
      if (trains_) gradients = GradientsOf(found, Differentiated(inputs, stock.object));
      found = found.detach();
    } catch (const std::exception& e) {
      return {Refusal{"different_result", "the kernel fails at " + label + ": " + LastErrorLine(e),
                      ""}};
    }
    if (!SameBytes(inputs, ran.sample.inputs)) {
      return {Refusal{"mutation", "the kernel changes an input", ""}};
    }
    if (found.scalar_type() != expected.scalar_type() || found.sizes() != expected.sizes()) {
      return {Refusal{"different_result",
                      "the kernel gives " + Described(found) + ", the model " +
                          Described(expected) + " at " + label,
                      ""}};
    }
    const auto compare = [&](const at::Tensor& a, const at::Tensor& b, double times,
                             const char* what) {
      const double allowed = times * Tolerance(kernel, b.scalar_type());
      Difference difference;
      AddDifference({a}, {b}, &difference);
      // Of a kernel that says it is exact, any error is too large.
      const double error = difference.max_rel == 0 ? 0
                           : allowed == 0          ? std::numeric_limits<double>::infinity()
                                                   : difference.max_rel / allowed;
      if (error <= result.error) return;
      result.error = error;
      worst = "largest error " + Number(difference.max_rel) + " of the largest " + what +
              ", allowed " + Number(allowed) + ", at " + label;
    };
    if (!AllFinite(expected) || !AllFinite(found)) return {Refusal{"not_finite", label, ""}};
    compare(found, expected, 1, "result");
    for (size_t i = 0; i < gradients.size(); ++i) {
      const at::Tensor& stock_gradient = ran.gradients.at(index).at(i);
      if (!AllFinite(stock_gradient) || !AllFinite(gradients[i])) {
        return {Refusal{"not_finite", "a gradient, at " + label, ""}};
      }
      compare(gradients[i], stock_gradient, kGradientTimes, "gradient");
    }
  }
  if (!SameBytes(TensorsOf(stock.object), stock.tensors)) {
    stock_.erase(&frame);  // it is not the model's any more
    return {Refusal{"mutation", "the kernel changes a parameter", ""}};
  }
  if (result.error > 1) result.refusal = Refusal{"different_result", worst, ""};
  return result;
}

}  // namespace kernelmap
