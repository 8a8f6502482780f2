#include "compiler/languages.h"

#include <algorithm>
#include <cctype>

#include "compiler/antlr_parse.h"
#include "compiler/suggest.h"
#include "compiler/version.h"

namespace kernelmap {
namespace {

bool IsIdentifier(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0]))) return false;
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return c == '_' || (c < 0x80 && std::isalnum(c)); });
}

bool IsRepositoryPart(std::string_view text) {
  const auto edge = [](char c) { return c == '-' || c == '.'; };
  return !text.empty() && text.size() <= 96 && !edge(text.front()) && !edge(text.back()) &&
         text.find("--") == std::string_view::npos && text.find("..") == std::string_view::npos;
}

template <const DiagnosticKind& kind>
Diagnostics::Addition ReportSyntax(const SubText& text, const ParseResult& result,
                                   Diagnostics* diagnostics) {
  const SyntaxError& error = result.errors.front();
  return diagnostics->Report<kind>(text.At(error.begin, error.end), error.expected, error.found);
}

std::string HelpForRef(std::string_view text) {
  if (text.starts_with("./") || text.starts_with("../") || text.starts_with("~/")) {
    return "a local kernel is given by its absolute path: /path/to/kernel:Name";
  }
  if (text.starts_with("http://") || text.starts_with("https://")) {
    return "a Hub kernel is given as org/repo, without the site";
  }
  return "";
}

}  // namespace

bool IsGitRef(std::string_view text) {
  if (text.empty() || text.size() > kMaxText || text.front() == '/' || text.back() == '/' ||
      text.front() == '-' || text.back() == '.' || text.find("..") != std::string_view::npos ||
      text.find("//") != std::string_view::npos || text.find("@{") != std::string_view::npos) {
    return false;
  }
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return c > 0x20 && c != 0x7F && std::string_view("~^:?*[\\").find(c) == std::string_view::npos;
  });
}

Span SubText::At(size_t from, size_t to) const {
  if (!verbatim) return whole;
  // The place after the last character: the closing quote would be misleading to underline alone.
  if (from >= text.size() && from == to) return {begin + text.size(), begin + text.size()};
  return {begin + from, begin + to};
}

SubText SubText::Part(size_t from, size_t to) const {
  SubText part = *this;
  part.text = text.substr(from, to - from);
  part.whole = At(from, to);
  part.begin = begin + from;
  return part;
}

SubText SubText::OfString(const Node& string) {
  return {string.text, string.span, string.verbatim, string.inside.begin};
}

SubText SubText::OfKey(const Member& member) {
  return {member.key, member.key_span, member.verbatim, member.inside.begin};
}

SubText SubText::OfSource(const Source& source) {
  return {source.text(), {0, source.text().size()}, true, 0};
}

bool IsSkipped(const SubText& text, Diagnostics* diagnostics) {
  if (diagnostics->Overflows()) return true;
  if (text.text.size() <= kMaxText) return false;
  diagnostics->Report<Diag::TextTooLong>(text.whole, kMaxText);
  return true;
}

std::string KernelRef::Publisher() const {
  return kind == Kind::kHub ? repo.substr(0, repo.find('/')) : "";
}

std::optional<KernelRef> ParseKernelRef(const SubText& text, Diagnostics* diagnostics) {
  if (IsSkipped(text, diagnostics)) return std::nullopt;
  KernelRef ref;
  ref.text = text.text;
  Rule rule = Rule::kHubRef;
  if (text.text.starts_with("builtin:")) {
    ref.kind = KernelRef::Kind::kBuiltin;
    rule = Rule::kBuiltinRef;
  } else if (text.text.starts_with('/')) {
    ref.kind = KernelRef::Kind::kLocal;
    rule = Rule::kLocalRef;
  }
  const ParseResult result = RunParser(rule, text.text);
  if (!result.errors.empty()) {
    ReportSyntax<Diag::BadKernelRef>(text, result, diagnostics).Help(HelpForRef(text.text));
    return std::nullopt;
  }
  bool fine = true;
  for (const Piece& piece : result.pieces) {
    const std::string_view part = text.text.substr(piece.begin, piece.end - piece.begin);
    const Span span = text.At(piece.begin, piece.end);
    if ((piece.rule == "owner" || piece.rule == "repo") && !IsRepositoryPart(part)) {
      diagnostics->Report<Diag::BadRepository>(span, part).Help(HelpForRef(text.text));
      fine = false;
    } else if (piece.rule == "symbol" && !IsIdentifier(part)) {
      diagnostics->Report<Diag::BadKernelName>(span, part);
      fine = false;
    } else if (piece.rule == "revision") {
      ref.revision = ParseRevision(text.Part(piece.begin, piece.end), diagnostics);
      fine = fine && ref.revision;
    }
  }
  if (!fine) return std::nullopt;
  ref.name = result.Get(text.text, "symbol");
  if (ref.kind == KernelRef::Kind::kHub) {
    ref.repo = std::string(result.Get(text.text, "owner")) + "/" +
               std::string(result.Get(text.text, "repo"));
  } else if (ref.kind == KernelRef::Kind::kLocal) {
    ref.repo = result.Get(text.text, ref.name.empty() ? "barePath" : "path");
  }
  return ref;
}

std::optional<Revision> ParseRevision(const SubText& text, Diagnostics* diagnostics) {
  if (IsSkipped(text, diagnostics)) return std::nullopt;
  Revision revision;
  revision.text = text.text;
  revision.span = text.All();
  if (std::string_view("<>=!~").find(text.text.substr(0, 1)) == std::string_view::npos ||
      text.text.empty()) {
    if (IsGitRef(text.text)) return revision;
    diagnostics->Report<Diag::BadRevision>(text.All(), text.text);
    return std::nullopt;
  }
  const ParseResult result = RunParser(Rule::kSpecifiers, text.text);
  if (!result.errors.empty()) {
    ReportSyntax<Diag::BadVersionSpecifier>(text, result, diagnostics);
    return std::nullopt;
  }
  bool fine = true;
  std::string op;
  for (const Piece& piece : result.pieces) {
    const std::string_view part = text.text.substr(piece.begin, piece.end - piece.begin);
    if (piece.rule == "comparison") {
      op = part.substr(0, part.find_first_not_of("<>=!~"));
    } else if (piece.rule == "version") {
      revision.comparisons.push_back({op, std::string(part)});
      if (const std::string problem = VersionProblem(op, part); !problem.empty()) {
        diagnostics->Report<Diag::BadVersion>(text.At(piece.begin, piece.end), part, problem);
        fine = false;
      }
    }
  }
  if (!fine) return std::nullopt;
  return revision;
}

std::string Mode::Text() const {
  std::string text;
  const auto add = [&text](bool is, std::string_view word) {
    if (!is) return;
    if (!text.empty()) text += "|";
    text += word;
  };
  add(inference, "inference");
  add(training, "training");
  add(torch_compile, "torch_compile");
  add(fallback, "fallback");
  return text;
}

const std::vector<std::string>& ModeWords() {
  static const std::vector<std::string> words = {"inference", "training", "torch_compile",
                                                 "fallback"};
  return words;
}

std::optional<Mode> ParseMode(const SubText& text, Diagnostics* diagnostics) {
  if (IsSkipped(text, diagnostics)) return std::nullopt;
  const ParseResult result = RunParser(Rule::kMode, text.text);
  if (!result.errors.empty()) {
    ReportSyntax<Diag::BadMode>(text, result, diagnostics);
    return std::nullopt;
  }
  Mode mode;
  bool fine = true;
  for (const Piece& piece : result.pieces) {
    if (piece.rule != "word") continue;
    const std::string_view word = text.text.substr(piece.begin, piece.end - piece.begin);
    const Span span = text.At(piece.begin, piece.end);
    bool* const flags[] = {&mode.inference, &mode.training, &mode.torch_compile, &mode.fallback};
    const auto found = std::find(ModeWords().begin(), ModeWords().end(), word);
    if (found == ModeWords().end()) {
      diagnostics->Report<Diag::UnknownMode>(span, word).Help(DidYouMeanOneOf(word, ModeWords()));
      fine = false;
      continue;
    }
    bool& flag = *flags[found - ModeWords().begin()];
    if (flag) {
      diagnostics->Report<Diag::RepeatedMode>(span, word);
      fine = false;
    }
    flag = true;
  }
  if (mode.inference && mode.training) {
    diagnostics->Report<Diag::ModeConflict>(text.All(), "inference", "training");
    fine = false;
  } else if (mode.fallback && mode != Mode{.fallback = true}) {
    Mode other = mode;
    other.fallback = false;
    diagnostics->Report<Diag::ModeConflict>(text.All(), "fallback", other.Text());
    fine = false;
  }
  if (!fine) return std::nullopt;
  return mode;
}

bool ParsePathPattern(const SubText& text, Diagnostics* diagnostics) {
  if (IsSkipped(text, diagnostics)) return false;
  if (const size_t at = text.text.find("**"); at != std::string_view::npos) {
    diagnostics->Report<Diag::DoubleStar>(text.At(at, at + 2))
        .Help("write one `*` for each segment: layers.*.mlp");
    return false;
  }
  const ParseResult result = RunParser(Rule::kPattern, text.text);
  if (result.errors.empty()) return true;
  ReportSyntax<Diag::BadPathPattern>(text, result, diagnostics);
  return false;
}

KeyKind ClassifyKey(std::string_view key) {
  const auto is_word = [](const std::vector<std::string>& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  const std::string_view first = key.substr(0, key.find_first_of("<>=!~| \t"));
  if (is_word(DeviceWords(), first)) return KeyKind::kDevice;
  if (is_word(ModeWords(), first)) return KeyKind::kMode;
  return KeyKind::kOther;
}

}  // namespace kernelmap
