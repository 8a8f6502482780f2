#include "rewriter/numeric_guard.h"

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_set>
#include <utility>

#include "rewriter/expr/effects.h"
#include "rewriter/name_guard_parts.h"

namespace kernelmap {
namespace {

using expr::Kind;
using expr::Operand;
using expr::Refusal;

constexpr size_t kMaxCandidates = 64;  // that are tried for one module
constexpr size_t kMaxTensors = 64;     // of a module that are looked at

// What a parameter of the kernel's code may be, and the type that it then has.
struct Choice {
  Operand operand;
  std::string type;
};

std::set<std::string> Words(const std::string& text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : text + ".") {
    if (c != '.' && c != '_') {
      word += c;
    } else if (!word.empty()) {
      words.insert(std::exchange(word, ""));
    }
  }
  return words;
}

class Candidates {
 public:
  Candidates(const expr::Program& program, const expr::Frame& frame)
      : program_(program), frame_(frame), graph_(program.graphs[frame.graph]) {
    FindTensors();
    FindNumbers();
  }

  // Adds the edits for one way to call the kernel; what does not fit.
  std::optional<Refusal> Add(const KernelCall& call, size_t index, std::vector<NamedEdit>* out) {
    // Two edits that differ only in the code must not be taken for the same.
    expr::Edit edit{.graph = frame_.graph,
                    .pattern = -1 - static_cast<int>(index),
                    .result_only = true,
                    .needs_contiguous = true};
    if (const std::string why = TakeInputs(graph_, call, &edit); !why.empty()) {
      return Refusal{"signature", why, ""};
    }
    std::vector<std::vector<Choice>> choices;
    for (const WantedAttribute& wanted : call.others) {
      choices.push_back(ChoicesFor(wanted));
      if (choices.back().empty()) {
        return Refusal{"no_attribute", "the kernel reads `" + wanted.names[0] + "`", ""};
      }
    }
    const std::vector<int> results = Results(&edit);
    if (results.empty()) return Refusal{"signature", "forward returns no tensor", ""};
    for (const int result : results) {
      edit.replaced = {result};
      if (auto refusal = AddAll(call, edit, choices, out)) return refusal;
    }
    return std::nullopt;
  }

 private:
  void FindTensors() {
    std::deque<std::pair<int, std::vector<std::string>>> queue{{frame_.object, {}}};
    std::set<int> seen{frame_.object};
    for (; !queue.empty(); queue.pop_front()) {
      const auto& [object, path] = queue.front();
      for (const auto& [name, value] : program_.objects[object].attributes) {
        std::vector<std::string> inner = path;
        inner.push_back(name);
        if (value.kind == Kind::kTensor && expr::IsFloating(value.dtype) &&
            tensors_.size() < kMaxTensors) {
          tensors_.push_back(std::move(inner));
        } else if (value.kind == Kind::kObject && seen.insert(value.integer).second) {
          queue.emplace_back(static_cast<int>(value.integer), std::move(inner));
        }
      }
    }
  }

  // Tracing turns numbers such as `eps` into constants of the code.
  void FindNumbers() {
    std::unordered_set<int> graphs;
    expr::AddGraph(program_, frame_.graph, graphs);
    graphs.insert(frame_.graph);
    for (const int graph : std::set<int>(graphs.begin(), graphs.end())) {
      FindNumbers(program_.graphs[graph].body);
    }
  }

  void FindNumbers(const expr::Block& block) {
    for (const expr::Node& node : block.nodes) {
      if (node.constant >= 0) {
        const expr::Constant& c = program_.constants[node.constant];
        const bool is_float = c.kind == Kind::kFloat ||
                              (c.kind == Kind::kTensor && c.has_item && expr::IsFloating(c.dtype));
        if (is_float && std::find(numbers_.begin(), numbers_.end(), c.real) == numbers_.end()) {
          numbers_.push_back(c.real);
        }
      }
      for (const expr::Block& inner : node.blocks) FindNumbers(inner);
    }
  }

  static Choice AttributeChoice(std::vector<std::string> path, std::string type) {
    return {Operand{.from = Operand::From::kAttribute, .path = std::move(path)}, std::move(type)};
  }

  std::vector<Choice> ChoicesFor(const WantedAttribute& wanted) const {
    for (const std::string& name : wanted.names) {
      const expr::Constant* value = program_.objects[frame_.object].Find(name);
      const std::string type = value ? TypeName(value->kind) : "";
      if (type.empty() || (!wanted.type.empty() && type != wanted.type)) continue;
      return {AttributeChoice({name}, type)};
    }
    std::vector<Choice> choices;
    if (wanted.type == "float" || wanted.type.empty()) {
      for (const auto& [name, value] : program_.objects[frame_.object].attributes) {
        if (value.kind == Kind::kFloat) choices.push_back(AttributeChoice({name}, "float"));
      }
      for (const double number : numbers_) {
        choices.push_back({Operand{.from = Operand::From::kFloat, .real = number}, "float"});
      }
    }
    if (wanted.type == "Tensor") {
      for (const bool by_words : {true, false}) {
        for (const std::vector<std::string>& path : tensors_) {
          if (!by_words || HasWords(path, wanted.names[0])) {
            choices.push_back(AttributeChoice(path, "Tensor"));
          }
        }
        if (!choices.empty()) break;
      }
    }
    return choices;
  }

  // `gate_proj.weight` has the words of `gate_weight`.
  static bool HasWords(const std::vector<std::string>& path, const std::string& name) {
    std::string all;
    for (const std::string& part : path) all += part + ".";
    const std::set<std::string> have = Words(all), want = Words(name);
    return std::includes(have.begin(), have.end(), want.begin(), want.end());
  }

  // The tensors that forward returns. Others in a tuple stay what they are.
  std::vector<int> Results(expr::Edit* edit) const {
    const expr::Block& body = graph_.body;
    if (body.outputs.size() != 1) return {};
    if (graph_.kinds[body.outputs[0]] == Kind::kTensor) return {body.outputs[0]};
    std::vector<int> results;
    for (const expr::Node& node : body.nodes) {
      if (node.op != "prim::TupleConstruct" || node.outputs != body.outputs) continue;
      edit->before = &node;
      for (const int v : node.inputs) {
        const bool fresh = std::find(results.begin(), results.end(), v) == results.end();
        if (fresh && graph_.kinds[v] == Kind::kTensor) results.push_back(v);
      }
    }
    return results;
  }

  static std::optional<Refusal> AddAll(const KernelCall& call, const expr::Edit& edit,
                                       const std::vector<std::vector<Choice>>& choices,
                                       std::vector<NamedEdit>* out) {
    std::vector<size_t> at(choices.size(), 0);
    for (size_t tried = 0; out->size() < kMaxCandidates && tried < 64 * kMaxCandidates; ++tried) {
      NamedEdit named{edit, nullptr};
      std::vector<std::string> types;
      std::set<std::vector<std::string>> paths;
      bool distinct = true;
      for (size_t i = 0; i < choices.size(); ++i) {
        const Choice& choice = choices[i][at[i]];
        named.edit.operands.push_back(choice.operand);
        types.push_back(choice.type);
        if (choice.type == "Tensor") distinct &= paths.insert(choice.operand.path).second;
      }
      if (distinct) {
        auto code = MakeCall(call, edit.operands.size(), types);
        if (const auto* refusal = std::get_if<Refusal>(&code)) return *refusal;
        named.implementation = std::get<std::shared_ptr<const Implementation>>(std::move(code));
        out->push_back(std::move(named));
      }
      size_t i = choices.size();
      while (i > 0 && ++at[i - 1] == choices[i - 1].size()) at[--i] = 0;
      if (i == 0) break;
    }
    return std::nullopt;
  }

  const expr::Program& program_;
  const expr::Frame& frame_;
  const expr::Graph& graph_;
  std::vector<std::vector<std::string>> tensors_;
  std::vector<double> numbers_;
};

}  // namespace

std::variant<std::vector<NamedEdit>, Refusal> NumericCandidates(const Kernel& kernel,
                                                                const std::string& layer_name,
                                                                const Layer* layer,
                                                                const expr::Program& program,
                                                                const expr::Frame& frame) {
  const auto calls = KernelCalls(kernel, layer_name, layer);
  if (const auto* refusal = std::get_if<Refusal>(&calls)) return *refusal;
  Candidates candidates(program, frame);
  std::vector<NamedEdit> edits;
  std::optional<Refusal> first;
  const auto& list = std::get<std::vector<KernelCall>>(calls);
  for (size_t i = 0; i < list.size(); ++i) {
    auto refusal = candidates.Add(list[i], i, &edits);
    if (refusal && !first) first = std::move(refusal);
  }
  if (edits.empty()) return first.value_or(Refusal{"no_attribute", "", ""});
  return edits;
}

}  // namespace kernelmap
