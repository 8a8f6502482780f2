#include "compiler/store/layer_source.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "compiler/store/python_text.h"
#include "compiler/store/source_check.h"

namespace kernelmap {
namespace {

using Kind = PythonToken::Kind;
using Tokens = std::vector<PythonToken>;

// A `def` and the lines under it.
struct Function {
  const PythonLine* head = nullptr;
  std::vector<const PythonLine*> body;
  bool decorated = false;
};

// A Python type in TorchScript's words.
std::string TorchScriptType(const Tokens& tokens, size_t begin, size_t end) {
  static const std::map<std::string, std::string, std::less<>> kNames = {
      {"tuple", "Tuple"}, {"list", "List"}, {"dict", "Dict"}};
  std::vector<std::string> parts(1);  // joined by `|`
  int depth = 0;
  for (size_t i = begin; i < end; ++i) {
    const PythonToken& token = tokens[i];
    const bool module = token.Is("torch") || token.Is("typing");
    if (module && i + 1 < end && tokens[i + 1].Is(".")) {
      ++i;
      continue;
    }
    if (token.Is("[")) ++depth;
    if (token.Is("]")) --depth;
    if (token.Is("|") && depth == 0) {
      parts.emplace_back();
      continue;
    }
    std::string text = token.text;
    if (token.kind == Kind::kString && text.size() > 2) text = text.substr(1, text.size() - 2);
    if (text == "torch.Tensor") text = "Tensor";
    const auto known = kNames.find(text);
    parts.back() += known == kNames.end() ? text : known->second;
    if (token.Is(",")) parts.back() += ' ';
  }
  if (parts.size() == 1) return parts[0];
  std::erase(parts, "None");
  return parts.size() == 1 ? "Optional[" + parts[0] + "]" : "Any";
}

// Where a parameter, an item or a type ends: at `,`, `=`, `:` or `)` outside brackets.
size_t EndOfPart(const Tokens& tokens, size_t from, bool stop_at_sign) {
  int depth = 0;
  for (size_t i = from; i < tokens.size(); ++i) {
    if (tokens[i].Opens()) ++depth;
    if (tokens[i].Closes()) {
      if (depth-- == 0) return i;
    }
    if (depth > 0) continue;
    if (tokens[i].Is(",") || tokens[i].Is(":")) return i;
    if (stop_at_sign && tokens[i].Is("=")) return i;
  }
  return tokens.size();
}

std::variant<SourceSignature, LayerProblem> ReadSignature(const PythonLine& line) {
  const Tokens& tokens = line.tokens;
  SourceSignature signature;
  if (tokens.size() < 4 || !tokens[2].Is("("))
    return LayerProblem{"`def` in another form", line.number};
  const size_t close = ClosingBracket(tokens, 2);
  for (size_t i = 3; i < close;) {
    if (tokens[i].Is(",")) {
      ++i;
      continue;
    }
    const bool starred = tokens[i].Is("*") || tokens[i].Is("**");
    if (starred && i + 1 < close && tokens[i + 1].kind == Kind::kName) {
      return LayerProblem{"`" + tokens[i].text + tokens[i + 1].text + "`", line.number};
    }
    if (starred || tokens[i].Is("/")) {
      ++i;
      continue;
    }
    SourceParameter parameter{tokens[i].text, "", std::nullopt};
    if (tokens[i].kind != Kind::kName) return LayerProblem{"`" + tokens[i].text + "`", line.number};
    ++i;
    if (tokens[i].Is(":")) {
      const size_t end = EndOfPart(tokens, i + 1, true);
      parameter.type = TorchScriptType(tokens, i + 1, end);
      i = end;
    }
    if (tokens[i].Is("=")) {
      const size_t end = EndOfPart(tokens, i + 1, false);
      parameter.otherwise = JoinTokens(tokens, i + 1, end);
      i = end;
    }
    signature.parameters.push_back(std::move(parameter));
  }
  if (close + 1 < tokens.size() && tokens[close + 1].Is("->")) {
    signature.returns = TorchScriptType(tokens, close + 2, EndOfPart(tokens, close + 2, false));
  }
  return signature;
}

// The words that start what TorchScript has no form of.
std::string Unsupported(const PythonLine& line) {
  static const std::set<std::string, std::less<>> kAnywhere = {"lambda", "yield", "await"};
  static const std::set<std::string, std::less<>> kStatements = {
      "try", "except", "finally", "import", "from",     "async", "with",
      "del", "global", "class",   "def",    "nonlocal", "match"};
  const Tokens& tokens = line.tokens;
  const bool message = tokens[0].Is("raise") || tokens[0].Is("assert");
  int depth = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const PythonToken& token = tokens[i];
    if (token.Opens()) ++depth;
    if (token.Closes()) --depth;
    const bool statement = i == 0 && tokens.size() > 1 && token.kind == Kind::kName &&
                           (tokens[1].kind != Kind::kOperator || tokens[1].Is(":"));
    if (statement && kStatements.contains(token.text)) return "`" + token.text + "`";
    if (token.kind == Kind::kName && kAnywhere.contains(token.text)) return "`" + token.text + "`";
    if (token.Is(":=") || token.Is(";")) return "`" + token.text + "`";
    if (token.Is("for") && depth > 0) return "a comprehension";
    if (token.Is("*") && i > 0 && (tokens[i - 1].Is("(") || tokens[i - 1].Is(","))) {
      return "`*" + (i + 1 < tokens.size() ? tokens[i + 1].text : "") + "`";
    }
    if (token.Is("**") && i > 0 && (tokens[i - 1].Is("(") || tokens[i - 1].Is(","))) {
      return "`**" + (i + 1 < tokens.size() ? tokens[i + 1].text : "") + "`";
    }
    const bool format =
        token.kind == Kind::kString && (token.text[0] == 'f' || token.text[0] == 'F');
    if (format && !message) return "a formatted string";
    const bool name = token.kind == Kind::kName && i + 2 < tokens.size() && tokens[i + 1].Is(".");
    if (name && tokens[i + 2].Is("apply") && token.text[0] >= 'A' && token.text[0] <= 'Z') {
      return "the autograd function `" + token.text + "`";
    }
  }
  return "";
}

class Reader {
 public:
  Reader(std::string_view text, std::string_view name) : name_(name), read_(ReadPython(text)) {}

  std::variant<LayerSource, LayerProblem> Run() {
    if (!read_) return LayerProblem{"text that is not Python", 0};
    Index();
    if (!head_) return LayerProblem{"no class `" + name_ + "`", 0, true};
    if (!forward_) return LayerProblem{"a class without a `forward` of its own", head_->number};
    if (forward_->decorated) return LayerProblem{"a decorator", forward_->head->number};
    CheckClass();
    LayerSource source;
    source.name = name_;
    source.attribute_prefix = prefix_ = FreshPrefix(*read_, "self_");
    source.unused_prefix = FreshPrefix(*read_, "unused_");
    auto signature = ReadSignature(*forward_->head);
    if (const auto* problem = std::get_if<LayerProblem>(&signature)) return *problem;
    source.signature = std::get<SourceSignature>(std::move(signature));
    std::vector<SourceParameter>& parameters = source.signature.parameters;
    if (parameters.empty() || parameters[0].name != "self") {
      return LayerProblem{"a `forward` without `self`", forward_->head->number};
    }
    parameters.erase(parameters.begin());
    attributes_ = &source.attributes;
    source.body = Body(*forward_);
    while (!wanted_.empty() && !problem_) {
      const std::string helper = *wanted_.begin();
      wanted_.erase(wanted_.begin());
      if (done_.insert(helper).second) source.helpers = Helper(helper) + source.helpers;
    }
    for (const std::string& name : used_) CheckImport(name);
    const std::string whole = source.helpers + "def forward(self):\n" + source.body;
    if (const std::string what = CodeProblem(whole); !what.empty()) Refuse(what, *forward_->head);
    if (problem_) return *problem_;
    return source;
  }

 private:
  // The class is what Python calls only if nothing else of that name is made, and nothing is made
  // of it or of its forward.
  void CheckClass() {
    for (const NameBinding& binding : BindingsOf(*read_, name_)) {
      if (binding.decorated) Refuse("a decorator", *binding.line);
      if (binding.kind != NameBinding::Kind::kClass || binding.conditional) {
        Refuse("another `" + name_ + "`", *binding.line);
      }
      if (binding.line != head_) Refuse("another `" + name_ + "`", *head_);
    }
    std::vector<PythonLine> body;
    const auto first = static_cast<size_t>(head_ - read_->data()) + 1;
    for (size_t i = first; i < read_->size() && (*read_)[i].indent > 0; ++i) {
      body.push_back((*read_)[i]);
      body.back().indent -= (*read_)[first].indent;
    }
    for (const NameBinding& binding : BindingsOf(body, "forward")) {
      if (binding.line->number != forward_->head->number || binding.conditional) {
        Refuse("another `forward`", *binding.line);
      }
    }
  }

  void CheckHelper(const std::string& name) {
    for (const NameBinding& binding : BindingsOf(*read_, name)) {
      if (binding.line != functions_.at(name).head) Refuse("another `" + name + "`", *binding.line);
    }
  }

  // Names that mean something to the compiler must mean the same in the file.
  void CheckImport(const std::string& name) {
    static const std::map<std::string, std::set<std::string>, std::less<>> kMeanings = {
        {"torch", {"torch"}},
        {"math", {"math"}},
        {"F", {"torch.nn.functional"}},
        {"ops", {"._ops.ops", ".._ops.ops"}}};
    for (const NameBinding& binding : BindingsOf(*read_, name)) {
      if (binding.kind != NameBinding::Kind::kImport ||
          !kMeanings.at(name).contains(binding.from)) {
        Refuse("another `" + name + "`", *binding.line);
      }
    }
  }

  static bool Starts(const PythonLine& line, std::string_view word) {
    return line.tokens.size() > 2 && line.tokens[0].Is(word) && line.tokens[1].kind == Kind::kName;
  }

  // Functions at the outermost level, the class and its forward. What stands later replaces.
  void Index() {
    const std::vector<PythonLine>& lines = *read_;
    for (size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].indent != 0) continue;
      if (Starts(lines[i], "def")) functions_[lines[i].tokens[1].text] = FunctionAt(i);
      if (!Starts(lines[i], "class") || !lines[i].tokens[1].Is(name_)) continue;
      head_ = &lines[i];
      forward_.reset();
      const int inside = i + 1 < lines.size() ? lines[i + 1].indent : 0;
      for (size_t j = i + 1; j < lines.size() && lines[j].indent > 0; ++j) {
        const bool method = lines[j].indent == inside && Starts(lines[j], "def");
        if (method && lines[j].tokens[1].Is("forward")) forward_ = FunctionAt(j);
      }
    }
  }

  Function FunctionAt(size_t at) const {
    const std::vector<PythonLine>& lines = *read_;
    Function function{&lines[at], {}, at > 0 && lines[at - 1].tokens[0].Is("@")};
    for (size_t i = at + 1; i < lines.size() && lines[i].indent > lines[at].indent; ++i) {
      function.body.push_back(&lines[i]);
    }
    return function;
  }

  std::string Helper(const std::string& name) {
    const Function& function = functions_.at(name);
    CheckHelper(name);
    if (function.decorated) Refuse("a decorator", *function.head);
    auto signature = ReadSignature(*function.head);
    if (const auto* problem = std::get_if<LayerProblem>(&signature)) {
      problem_ = *problem;
      return "";
    }
    const auto& read = std::get<SourceSignature>(signature);
    std::string text = "def " + name + "(";
    for (const SourceParameter& p : read.parameters) {
      if (&p != &read.parameters.front()) text += ", ";
      text += p.name + (p.type.empty() ? "" : ": " + p.type);
      if (p.otherwise) text += " = " + *p.otherwise;
    }
    text += ")" + (read.returns.empty() ? "" : " -> " + read.returns) + ":\n";
    attributes_ = nullptr;
    return text + Body(function);
  }

  std::string Body(const Function& function) {
    std::string text;
    int base = -1;
    for (const PythonLine* line : function.body) {
      if (base < 0) base = line->indent;
      const bool only_text =
          std::all_of(line->tokens.begin(), line->tokens.end(),
                      [](const PythonToken& t) { return t.kind == Kind::kString; });
      if (only_text) continue;
      if (const std::string what = Unsupported(*line); !what.empty()) Refuse(what, *line);
      if (const std::string what = StatementProblem(*line); !what.empty()) Refuse(what, *line);
      text += std::string(4 + std::max(0, line->indent - base), ' ') + Statement(*line) + "\n";
    }
    return text;
  }

  std::string Statement(const PythonLine& line) {
    Tokens tokens;
    for (size_t i = 0; i < line.tokens.size(); ++i) {
      PythonToken token = line.tokens[i];
      const bool after_dot = i > 0 && line.tokens[i - 1].Is(".");
      if (token.Is("self") && !after_dot) {
        i += 2;
        token.text = prefix_ + Attribute(line, i);
      } else if (token.kind == Kind::kName && !after_dot && functions_.contains(token.text)) {
        wanted_.insert(token.text);
      } else if (!after_dot &&
                 (token.Is("torch") || token.Is("ops") || token.Is("F") || token.Is("math"))) {
        used_.insert(token.text);
      } else if (token.kind == Kind::kString && (token.text[0] == 'f' || token.text[0] == 'F')) {
        token.text.erase(0, 1);  // in a message, which may as well show its placeholders
      }
      tokens.push_back(std::move(token));
    }
    return JoinTokens(tokens, 0, tokens.size());
  }

  // The attribute at index `at`, two after `self`; only its value may be read.
  std::string Attribute(const PythonLine& line, size_t at) {
    const Tokens& tokens = line.tokens;
    const bool is_attribute =
        at < tokens.size() && tokens[at - 1].Is(".") && tokens[at].kind == Kind::kName;
    if (!is_attribute || !attributes_) {
      Refuse("`self` as a value", line);
      return "";
    }
    const std::string& name = tokens[at].text;
    if (at + 1 < tokens.size()) {
      const PythonToken& next = tokens[at + 1];
      if (next.Is("(")) Refuse("a call of `self." + name + "`", line);
      if (next.Assigns() && at == 2) Refuse("an assignment to `self." + name + "`", line);
    }
    if (std::find(attributes_->begin(), attributes_->end(), name) == attributes_->end()) {
      attributes_->push_back(name);
    }
    return name;
  }

  void Refuse(std::string what, const PythonLine& line) {
    if (!problem_) problem_ = LayerProblem{std::move(what), line.number};
  }

  std::string name_;
  std::optional<std::vector<PythonLine>> read_;
  std::map<std::string, Function> functions_;
  const PythonLine* head_ = nullptr;
  std::optional<Function> forward_;
  std::vector<std::string>* attributes_ = nullptr;
  std::set<std::string> wanted_, done_;  // helpers
  std::set<std::string> used_;           // modules
  std::string prefix_;
  std::optional<LayerProblem> problem_;
};

}  // namespace

std::variant<LayerSource, LayerProblem> ReadLayerSource(std::string_view text,
                                                        std::string_view name) {
  return Reader(text, name).Run();
}

std::optional<SourceSignature> ReadForwardSignature(std::string_view source) {
  const auto lines = ReadPython(source);
  if (!lines) return std::nullopt;
  for (const PythonLine& line : *lines) {
    if (line.tokens.size() < 3 || !line.tokens[0].Is("def") || !line.tokens[1].Is("forward")) {
      continue;
    }
    auto signature = ReadSignature(line);
    if (auto* read = std::get_if<SourceSignature>(&signature)) return std::move(*read);
  }
  return std::nullopt;
}

}  // namespace kernelmap
