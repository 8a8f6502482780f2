#include "rewriter/verify_inputs.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <nlohmann/json.hpp>

#include "compiler/compile.h"
#include "rewriter/expr/dtype.h"

namespace kernelmap {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 31;
constexpr size_t kMaxInputsBytes = size_t{8} << 30;

bool AllTensors(const std::vector<c10::IValue>& values) {
  for (const c10::IValue& value : values) {
    if (!value.isTensor()) return false;
  }
  return !values.empty();
}

// The dtype that floating inputs have: that of the first floating parameter.
at::ScalarType ModelDType(const torch::jit::Module& model) {
  for (const at::Tensor& parameter : model.parameters()) {
    if (parameter.is_floating_point()) return parameter.scalar_type();
  }
  return at::kFloat;
}

}  // namespace

std::optional<ApplyError> ReadInputs(const std::string& path, std::vector<c10::IValue>* inputs) {
  std::string error;
  std::optional<std::string> text = ReadFile(path, kMaxInputsBytes, &error);
  if (!text) return ApplyError{path, "cannot be read", true};
  if (text->size() > kMaxInputsBytes) return ApplyError{path, "is larger than any input", true};
  const std::vector<char> bytes(text->begin(), text->end());
  text.reset();
  c10::IValue value;
  try {
    value = torch::jit::pickle_load(bytes);
  } catch (const std::exception&) {
    return ApplyError{path, "is not a file that torch.save wrote, or holds more than tensors"};
  }
  if (value.isTensor()) {
    *inputs = {value};
  } else if (value.isTuple()) {
    const auto& elements = value.toTupleRef().elements();
    inputs->assign(elements.begin(), elements.end());
  } else if (value.isList()) {
    const auto elements = value.toListRef();
    inputs->assign(elements.begin(), elements.end());
  }
  if (AllTensors(*inputs)) return std::nullopt;
  return ApplyError{path, "does not hold a tuple of tensors: torch.save((input, …), …)"};
}

std::optional<ApplyError> MakeInputs(const std::string& description,
                                     const torch::jit::Module& model, const std::string& file,
                                     std::vector<c10::IValue>* inputs) {
  if (description.empty()) {
    return ApplyError{file,
                      "has no extra file input.json that describes an input: give --inputs, a file "
                      "that torch.save wrote with a tuple of forward's inputs"};
  }
  const ApplyError malformed{
      file, "its input.json is not {\"shape\": [int, …], \"vocab\": int, \"dtype\": \"float32\"}"};
  const auto json = nlohmann::json::parse(description, nullptr, false);
  if (!json.is_object() || !json.contains("shape") || !json["shape"].is_array()) return malformed;
  std::vector<int64_t> shape;
  int64_t elements = 1;
  for (const auto& size : json["shape"]) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() > uint64_t{kMaxElements}) {
      return malformed;
    }
    shape.push_back(size.get<int64_t>());
    if (shape.back() > 0 && elements > kMaxElements / shape.back()) return malformed;
    elements *= shape.back();
  }
  std::optional<expr::DType> dtype;  // else pixels for four dimensions, and ids for others
  if (const auto name = json.find("dtype"); name != json.end()) {
    if (name->is_string()) dtype = expr::DTypeFromName(name->get<std::string>());
    if (!dtype) return malformed;
  }
  at::manual_seed(0);
  if (dtype ? expr::IsFloating(*dtype) : shape.size() == 4) {
    *inputs = {at::rand(shape).to(dtype ? static_cast<at::ScalarType>(*dtype) : ModelDType(model))};
    return std::nullopt;
  }
  const auto vocab = json.find("vocab");
  if (vocab == json.end() || !vocab->is_number_integer() || vocab->get<int64_t>() < 2) {
    return malformed;
  }
  const at::Tensor ids = at::randint(1, vocab->get<int64_t>(), shape, at::kLong);
  *inputs = {ids.to(static_cast<at::ScalarType>(dtype.value_or(expr::kInt64)))};
  return std::nullopt;
}

}  // namespace kernelmap
