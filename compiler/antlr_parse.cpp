#include "compiler/antlr_parse.h"

#include <DeviceSelectorLexer.h>
#include <DeviceSelectorParser.h>
#include <KernelRefLexer.h>
#include <KernelRefParser.h>
#include <LayoutExpressionLexer.h>
#include <LayoutExpressionParser.h>
#include <ModeLexer.h>
#include <ModeParser.h>
#include <PathPatternLexer.h>
#include <PathPatternParser.h>
#include <VersionSpecLexer.h>
#include <VersionSpecParser.h>
#include <antlr4-runtime.h>

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/quick_parse.h"

namespace kernelmap {
namespace {

// ANTLR counts code points, we count bytes.
class Offsets {
 public:
  explicit Offsets(std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) bytes_.push_back(i);
    }
    bytes_.push_back(text.size());
  }
  size_t Byte(size_t code_point) const { return bytes_[std::min(code_point, bytes_.size() - 1)]; }

 private:
  std::vector<size_t> bytes_;
};

// How messages call a token.
std::string TokenWords(const std::string& display) {
  static const std::map<std::string, std::string> words = {
      {"EOF", "the end"},           {"WORD", "a name"},     {"OTHER", ""},
      {"OPERATOR", "a comparison"}, {"NUMBER", "a number"}, {"VERSION", "a version"},
      {"NAME", "a name"},           {"SPACE", ""},
  };
  const auto found = words.find(display);
  if (found != words.end()) return found->second;
  if (display.size() >= 2 && display.front() == '\'') {
    return "`" + display.substr(1, display.size() - 2) + "`";
  }
  return display;
}

class Listener : public antlr4::BaseErrorListener {
 public:
  Listener(std::string_view text, const Offsets& offsets, ParseResult* result)
      : text_(text), offsets_(offsets), result_(result) {}

  void syntaxError(antlr4::Recognizer* recognizer, antlr4::Token* token, size_t, size_t,
                   const std::string&, std::exception_ptr) override {
    if (!result_->errors.empty()) return;
    SyntaxError error;
    error.begin = error.end = text_.size();
    error.found = "the end";
    if (token && token->getType() != antlr4::Token::EOF) {
      error.begin = offsets_.Byte(token->getStartIndex());
      error.end = offsets_.Byte(token->getStopIndex() + 1);
      error.found = "`" + std::string(text_.substr(error.begin, error.end - error.begin)) + "`";
    }
    if (auto* parser = dynamic_cast<antlr4::Parser*>(recognizer)) {
      error.expected = Expected(*parser);
    }
    result_->errors.push_back(std::move(error));
  }

 private:
  static std::string Expected(antlr4::Parser& parser) {
    std::vector<std::string> words;
    const antlr4::misc::IntervalSet expected = parser.getExpectedTokens();
    for (const auto& interval : expected.getIntervals()) {
      for (ssize_t type = interval.a; type <= interval.b; ++type) {
        const std::string word =
            type == -1 ? "the end" : TokenWords(parser.getVocabulary().getDisplayName(type));
        if (!word.empty() && std::find(words.begin(), words.end(), word) == words.end()) {
          words.push_back(word);
        }
      }
    }
    std::string text;
    for (size_t i = 0; i < words.size(); ++i) {
      if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
      text += words[i];
    }
    return text.empty() ? "something else" : text;
  }

  std::string_view text_;
  const Offsets& offsets_;
  ParseResult* result_;
};

void Collect(antlr4::tree::ParseTree* tree, const std::vector<std::string>& rules,
             const Offsets& offsets, int level, ParseResult* result) {
  auto* context = dynamic_cast<antlr4::ParserRuleContext*>(tree);
  if (!context) return;
  if (context->start && context->stop) {
    result->pieces.push_back({rules[context->getRuleIndex()],
                              offsets.Byte(context->start->getStartIndex()),
                              offsets.Byte(context->stop->getStopIndex() + 1), level});
  }
  for (antlr4::tree::ParseTree* child : context->children) {
    Collect(child, rules, offsets, level + 1, result);
  }
}

template <typename Lexer, typename Parser, typename Entry>
ParseResult Run(std::string_view text, Entry entry) {
  const Offsets offsets(text);
  ParseResult result;
  Listener listener(text, offsets, &result);
  antlr4::ANTLRInputStream input{std::string(text)};
  Lexer lexer(&input);
  lexer.removeErrorListeners();
  lexer.addErrorListener(&listener);
  antlr4::CommonTokenStream tokens(&lexer);
  Parser parser(&tokens);
  parser.removeErrorListeners();
  parser.addErrorListener(&listener);
  antlr4::ParserRuleContext* tree = (parser.*entry)();
  if (result.errors.empty()) Collect(tree, parser.getRuleNames(), offsets, 0, &result);
  return result;
}

}  // namespace

std::string_view ParseResult::Get(std::string_view text, std::string_view rule) const {
  for (const Piece& piece : pieces) {
    if (piece.rule == rule) return text.substr(piece.begin, piece.end - piece.begin);
  }
  return {};
}

ParseResult RunAntlr(Rule rule, std::string_view text) {
  using namespace kernelmap_grammar;
  try {
    switch (rule) {
      case Rule::kHubRef:
        return Run<KernelRefLexer, KernelRefParser>(text, &KernelRefParser::hubRef);
      case Rule::kLocalRef:
        return Run<KernelRefLexer, KernelRefParser>(text, &KernelRefParser::localRef);
      case Rule::kBuiltinRef:
        return Run<KernelRefLexer, KernelRefParser>(text, &KernelRefParser::builtinRef);
      case Rule::kSpecifiers:
        return Run<VersionSpecLexer, VersionSpecParser>(text, &VersionSpecParser::specifiers);
      case Rule::kSelector:
        return Run<DeviceSelectorLexer, DeviceSelectorParser>(text,
                                                              &DeviceSelectorParser::selector);
      case Rule::kMode:
        return Run<ModeLexer, ModeParser>(text, &ModeParser::mode_);
      case Rule::kPattern:
        return Run<PathPatternLexer, PathPatternParser>(text, &PathPatternParser::pattern);
      case Rule::kLayout:
        return Run<LayoutExpressionLexer, LayoutExpressionParser>(
            text, &LayoutExpressionParser::layout);
    }
  } catch (const std::exception&) {
    // ANTLR throws only on what the callers rule out (text that is not UTF-8).
  }
  ParseResult failed;
  failed.errors.push_back({0, text.size(), "other text", "this"});
  return failed;
}

ParseResult RunParser(Rule rule, std::string_view text) {
  std::optional<ParseResult> quick = QuickParse(rule, text);
  return quick ? std::move(*quick) : RunAntlr(rule, text);
}

}  // namespace kernelmap
