#include "rewriter/numeric_samples.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <map>

namespace kernelmap {
namespace {

using expr::Refusal;

constexpr uint64_t kSeed = 20240229;
// Sizes of dimensions that are not known, in their order: one, odd ones, and what no vector fills.
constexpr int64_t kSizes[][4] = {{2, 5, 3, 2}, {1, 1, 1, 1}, {3, 1, 2, 1}, {1, 9, 1, 3}};

// Numbers of several sizes: what is added to small ones shows, and so does what limits large ones.
enum class Values { kNormal, kSmall, kLarge, kShifted, kZero, kStrided };
constexpr Values kAllValues[] = {Values::kNormal,  Values::kSmall, Values::kLarge,
                                 Values::kShifted, Values::kZero,  Values::kStrided};
constexpr Values kSomeValues[] = {Values::kNormal, Values::kLarge};

const char* ValuesName(Values values) {
  switch (values) {
    case Values::kNormal:
      return "normal";
    case Values::kSmall:
      return "normal / 1000";
    case Values::kLarge:
      return "normal * 32";
    case Values::kShifted:
      return "normal + 4";
    case Values::kZero:
      return "zeros";
    case Values::kStrided:
      return "normal, strided";
  }
  return "";
}

class SampleMaker {
 public:
  SampleMaker(const std::vector<InputFacts>& inputs, int64_t feature)
      : inputs_(inputs),
        feature_(feature),
        generator_(at::make_generator<at::CPUGeneratorImpl>(kSeed)) {}

  std::vector<Sample> Make() && {
    bool known = true;
    for (const InputFacts& input : inputs_) known &= input.rank >= 0;
    for (const int rank : known ? std::vector<int>{0} : std::vector<int>{3, 2, 4}) {
      for (const auto& sizes : kSizes) {
        const bool first = &sizes == &kSizes[0];
        for (const Values values :
             first ? std::vector<Values>(std::begin(kAllValues), std::end(kAllValues))
                   : std::vector<Values>(std::begin(kSomeValues), std::end(kSomeValues))) {
          Add(sizes, rank, values);
        }
      }
    }
    return std::move(samples_);
  }

 private:
  std::vector<int64_t> Shape(const InputFacts& input, const int64_t (&sizes)[4], int rank) {
    std::vector<InputFacts::Dimension> shape = input.shape;
    if (shape.empty()) shape.resize(input.rank >= 0 ? input.rank : rank);
    std::vector<int64_t> out;
    size_t next = 0;
    for (size_t i = 0; i < shape.size(); ++i) {
      int64_t size = shape[i].size;
      if (size < 0) {
        const bool last = i + 1 == shape.size();
        size = last ? feature_ : sizes[next++ % 4];
        if (shape[i].key >= 0) size = by_key_.try_emplace(shape[i].key, size).first->second;
      }
      out.push_back(size);
    }
    return out;
  }

  at::Tensor Fill(const std::vector<int64_t>& shape, at::ScalarType dtype, Values values) {
    std::vector<int64_t> made = shape;
    const bool turned = values == Values::kStrided && shape.size() > 1;
    if (turned) std::swap(made[0], made[shape.size() - 1]);
    at::Tensor x = at::randn(made, generator_, at::TensorOptions().dtype(at::kFloat));
    if (turned) x = x.transpose(0, static_cast<int64_t>(shape.size()) - 1);
    if (values == Values::kSmall) x.mul_(1e-3);
    if (values == Values::kLarge) x.mul_(32);
    if (values == Values::kShifted) x.add_(4);
    if (values == Values::kZero) x.zero_();
    return x.to(dtype);  // keeps strides
  }

  void Add(const int64_t (&sizes)[4], int rank, Values values) {
    by_key_.clear();
    Sample sample;
    for (const InputFacts& input : inputs_) {
      const std::vector<int64_t> shape = Shape(input, sizes, rank);
      sample.inputs.push_back(Fill(shape, input.dtype, values));
      if (!sample.label.empty()) sample.label += ", ";
      sample.label += expr::DTypeName(static_cast<expr::DType>(input.dtype)) + "[";
      for (size_t i = 0; i < shape.size(); ++i) {
        sample.label += (i ? ", " : "") + std::to_string(shape[i]);
      }
      sample.label += "]";
    }
    sample.label += std::string(", ") + ValuesName(values);
    samples_.push_back(std::move(sample));
  }

  const std::vector<InputFacts>& inputs_;
  const int64_t feature_;
  at::Generator generator_;
  std::map<int, int64_t> by_key_;
  std::vector<Sample> samples_;
};

}  // namespace

std::variant<std::vector<InputFacts>, Refusal> FactsOfInputs(const expr::Arena& arena,
                                                             const expr::Frame& frame) {
  std::vector<InputFacts> facts;
  for (size_t i = 1; i < frame.inputs.size(); ++i) {
    const expr::Expr& e = arena[frame.inputs[i]];
    if (!expr::IsFloating(e.dtype)) {
      return Refusal{"dtype", "input " + std::to_string(i - 1) + " is " + expr::DTypeName(e.dtype),
                     ""};
    }
    InputFacts input;
    input.dtype = static_cast<at::ScalarType>(e.dtype);
    input.rank = e.rank;
    for (const expr::Id id : e.has_shape ? e.shape : expr::Ids{}) {
      input.shape.push_back({arena.AsInt(id).value_or(-1), id});
    }
    facts.push_back(std::move(input));
  }
  return facts;
}

std::vector<Sample> MakeSamples(const std::vector<InputFacts>& inputs, int64_t feature) {
  return SampleMaker(inputs, feature).Make();
}

}  // namespace kernelmap
