#include "compiler/layout.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "compiler/antlr_parse.h"
#include "compiler/suggest.h"

namespace kernelmap {
namespace {

// The grammar's pieces as a tree.
struct Tree {
  const Piece* piece;
  std::vector<Tree> children;
};

Tree Nest(const std::vector<Piece>& pieces, size_t* at) {
  Tree tree{&pieces[(*at)++], {}};
  while (*at < pieces.size() && pieces[*at].begin >= tree.piece->begin &&
         pieces[*at].end <= tree.piece->end && pieces[*at].level > tree.piece->level) {
    tree.children.push_back(Nest(pieces, at));
  }
  return tree;
}

constexpr size_t kMaxDigits = 15;  // what a double holds

struct Function {
  std::string name, form;
  Layout::Kind kind;
};

const std::vector<Function>& Functions() {
  static const std::vector<Function> functions = {
      {"concat", "concat(a, b, …, dim=0)", Layout::Kind::kConcat},
      {"chunk", "chunk(a, 2, dim=0)[0]", Layout::Kind::kChunk},
      {"transpose", "transpose(a, 0, 1)", Layout::Kind::kTranspose},
  };
  return functions;
}

bool IsTensor(const Layout& layout) { return layout.kind != Layout::Kind::kNumber; }

class Builder {
 public:
  Builder(const SubText& text, Diagnostics* diagnostics) : text_(text), diagnostics_(diagnostics) {}

  std::optional<Layout> Build(const Tree& tree) {
    const std::string& rule = tree.piece->rule;
    if (rule == "number" && Slice(tree).size() > kMaxDigits) {
      diagnostics_->Report<Diag::BadLayout>(At(tree), "a shorter number",
                                            "`" + std::string(Slice(tree)) + "`");
      return std::nullopt;
    }
    if (rule == "path" || rule == "number") return Leaf(tree);
    if (rule == "sum" || rule == "product") return Chain(tree);
    if (rule == "operand" && tree.children.front().piece->rule == "call") return Call(tree);
    return Build(tree.children.front());
  }

 private:
  std::string_view Slice(const Tree& tree) const {
    return text_.text.substr(tree.piece->begin, tree.piece->end - tree.piece->begin);
  }

  Span At(const Tree& tree) const { return text_.At(tree.piece->begin, tree.piece->end); }

  std::string Path(const Tree& tree) const {
    std::string path;
    for (const char c : Slice(tree)) {
      if (std::string_view(" \t\r\n").find(c) == std::string_view::npos) path += c;
    }
    return path;
  }

  double Number(const Tree& tree) const {
    const std::string text = Path(tree);  // without spaces
    double number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }

  Layout Leaf(const Tree& tree) const {
    Layout layout;
    if (tree.piece->rule == "path") {
      layout.kind = Layout::Kind::kParameter;
      layout.path = Path(tree);
    } else {
      layout.number = Number(tree);
    }
    return layout;
  }

  std::optional<Layout> Chain(const Tree& tree) {
    std::optional<Layout> left = Build(tree.children.front());
    for (size_t i = 1; left && i + 1 < tree.children.size(); i += 2) {
      std::optional<Layout> right = Build(tree.children[i + 1]);
      if (!right) return std::nullopt;
      const char op = Slice(tree.children[i]).front();
      Layout both;
      both.kind = op == '+'   ? Layout::Kind::kAdd
                  : op == '-' ? Layout::Kind::kSubtract
                  : op == '*' ? Layout::Kind::kMultiply
                              : Layout::Kind::kDivide;
      if (!IsTensor(*left) && !IsTensor(*right)) {
        diagnostics_->Report<Diag::LayoutWithoutParameter>(At(tree), Slice(tree));
        return std::nullopt;
      }
      both.operands = {std::move(*left), std::move(*right)};
      left = std::move(both);
    }
    return left;
  }

  std::optional<Layout> Call(const Tree& operand) {
    const Tree& call = operand.children.front();
    const Tree& name = call.children.front();
    const auto function =
        std::find_if(Functions().begin(), Functions().end(),
                     [&](const Function& other) { return other.name == Slice(name); });
    if (function == Functions().end()) {
      std::vector<std::string> names;
      for (const Function& other : Functions()) names.push_back(other.name);
      diagnostics_->Report<Diag::UnknownLayoutFunction>(At(name), Slice(name))
          .Help(DidYouMeanOneOf(Slice(name), names));
      return std::nullopt;
    }
    Layout layout;
    layout.kind = function->kind;
    std::optional<int64_t> dim;
    std::vector<int64_t> numbers;
    bool fine = true;
    for (size_t i = 1; i < call.children.size(); ++i) {
      const Tree& argument = call.children[i];
      if (argument.children.front().piece->rule == "keyword") {
        fine = fine && Slice(argument.children.front()) == "dim" && !dim &&
               (dim = Whole(Number(argument.children.back())));
        continue;
      }
      std::optional<Layout> value = Build(argument);
      if (!value) return std::nullopt;
      if (IsTensor(*value)) {
        fine = fine && numbers.empty() && !dim;
        layout.operands.push_back(std::move(*value));
      } else if (const auto whole = Whole(value->number)) {
        numbers.push_back(*whole);
      } else {
        fine = false;
      }
    }
    std::optional<int64_t> index;
    if (operand.children.size() > 1) index = Whole(Number(operand.children[1].children.front()));
    if (!fine || !Arguments(numbers, dim, index, &layout)) {
      diagnostics_->Report<Diag::BadLayoutCall>(At(operand), Slice(operand), function->form);
      return std::nullopt;
    }
    return layout;
  }

  static std::optional<int64_t> Whole(double number) {
    if (number != std::floor(number) || std::abs(number) > 1e6) return std::nullopt;
    return static_cast<int64_t>(number);
  }

  static bool Arguments(const std::vector<int64_t>& numbers, std::optional<int64_t> dim,
                        std::optional<int64_t> index, Layout* layout) {
    switch (layout->kind) {
      case Layout::Kind::kConcat:
        layout->integers = {dim.value_or(0)};
        return layout->operands.size() >= 2 && numbers.empty() && !index;
      case Layout::Kind::kChunk:
        if (layout->operands.size() != 1 || numbers.size() != 1 || !index) return false;
        layout->integers = {numbers[0], dim.value_or(0), *index};
        return numbers[0] >= 1 && *index >= 0 && *index < numbers[0];
      case Layout::Kind::kTranspose:
        layout->integers = numbers;
        return layout->operands.size() == 1 && numbers.size() == 2 && !dim && !index;
      default:
        return false;
    }
  }

  const SubText& text_;
  Diagnostics* diagnostics_;
};

void CollectParameters(const Layout& layout, std::vector<std::string>* paths) {
  if (layout.kind == Layout::Kind::kParameter &&
      std::find(paths->begin(), paths->end(), layout.path) == paths->end()) {
    paths->push_back(layout.path);
  }
  for (const Layout& operand : layout.operands) CollectParameters(operand, paths);
}

std::string NumberText(double number) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::fixed);
  return {buffer, end.ptr};
}

std::string Infix(const Layout& layout, std::string_view op) {
  return "(" + layout.operands[0].Text() + " " + std::string(op) + " " + layout.operands[1].Text() +
         ")";
}

}  // namespace

std::vector<std::string> Layout::Parameters() const {
  std::vector<std::string> paths;
  CollectParameters(*this, &paths);
  return paths;
}

std::string Layout::Text() const {
  const auto integer = [this](size_t i) { return std::to_string(integers[i]); };
  switch (kind) {
    case Kind::kParameter:
      return path;
    case Kind::kNumber:
      return NumberText(number);
    case Kind::kConcat: {
      std::string text = "concat(";
      for (const Layout& operand : operands) text += operand.Text() + ", ";
      return text + "dim=" + integer(0) + ")";
    }
    case Kind::kChunk:
      return "chunk(" + operands[0].Text() + ", " + integer(0) + ", dim=" + integer(1) + ")[" +
             integer(2) + "]";
    case Kind::kTranspose:
      return "transpose(" + operands[0].Text() + ", " + integer(0) + ", " + integer(1) + ")";
    case Kind::kAdd:
      return Infix(*this, "+");
    case Kind::kSubtract:
      return Infix(*this, "-");
    case Kind::kMultiply:
      return Infix(*this, "*");
    case Kind::kDivide:
      return Infix(*this, "/");
  }
  return "";
}

std::optional<Layout> ParseLayout(const SubText& text, Diagnostics* diagnostics) {
  if (text.text.size() > kMaxText) {
    diagnostics->Report<Diag::TextTooLong>(text.whole, kMaxText);
    return std::nullopt;
  }
  int depth = 0;
  for (size_t i = 0; i < text.text.size(); ++i) {
    if (text.text[i] == '(' && ++depth > kMaxLayoutDepth) {
      diagnostics->Report<Diag::TooDeep>(text.At(i, i + 1), kMaxLayoutDepth);
      return std::nullopt;
    }
    if (text.text[i] == ')') --depth;
  }
  const ParseResult result = RunParser(Rule::kLayout, text.text);
  if (!result.errors.empty()) {
    const SyntaxError& error = result.errors.front();
    diagnostics->Report<Diag::BadLayout>(text.At(error.begin, error.end), error.expected,
                                         error.found);
    return std::nullopt;
  }
  size_t at = 0;
  const Tree tree = Nest(result.pieces, &at);
  std::optional<Layout> layout = Builder(text, diagnostics).Build(tree);
  if (layout && !IsTensor(*layout)) {
    diagnostics->Report<Diag::LayoutWithoutParameter>(text.All(), text.text);
    return std::nullopt;
  }
  return layout;
}

}  // namespace kernelmap
