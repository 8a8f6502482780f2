// Which names a file binds, and how: as far as text shows it.
#include <algorithm>

#include "compiler/store/source_check.h"

namespace kernelmap {
namespace {

using Kind = PythonToken::Kind;
using Tokens = std::vector<PythonToken>;

bool StartsBlock(const PythonToken& token) {
  for (const char* word : {"if", "elif", "else", "try", "except", "finally", "for", "while", "with",
                           "match", "case", "async"}) {
    if (token.Is(word)) return true;
  }
  return false;
}

class Finder {
 public:
  Finder(const std::vector<PythonLine>& lines, std::string_view name)
      : lines_(lines), name_(name) {}

  std::vector<NameBinding> Run() {
    int function = -1;  // the indent of the function or class that lines are in
    bool decorated = false;
    for (const PythonLine& line : lines_) {
      if (function >= 0 && line.indent > function) {
        Inside(line);
        continue;
      }
      function = -1;
      line_ = &line;
      conditional_ = line.indent > 0;
      decorated_ = decorated;
      decorated = line.tokens[0].Is("@");
      if (line.tokens[0].Is("def") || line.tokens[0].Is("class")) function = line.indent;
      const bool async =
          line.tokens[0].Is("async") && line.tokens.size() > 1 && line.tokens[1].Is("def");
      if (async) function = line.indent;
      Statements(line.tokens);
    }
    return std::move(found_);
  }

 private:
  void Found(NameBinding::Kind kind, std::string from = "") {
    found_.push_back({kind, line_, std::move(from), conditional_, decorated_});
  }

  // In a function only these reach the names of the file.
  void Inside(const PythonLine& line) {
    line_ = &line;
    conditional_ = true;
    decorated_ = false;
    if (line.tokens[0].Is("global") && Names(line.tokens, 1, line.tokens.size()))
      Found(NameBinding::Kind::kOther);
  }

  bool Names(const Tokens& tokens, size_t begin, size_t end) const {
    for (size_t i = begin; i < end && i < tokens.size(); ++i) {
      const bool attribute = i > 0 && tokens[i - 1].Is(".");
      if (tokens[i].kind == Kind::kName && !attribute && tokens[i].text == name_) return true;
    }
    return false;
  }

  // `a; b`, and what stands behind the colon of `if x: a`.
  void Statements(const Tokens& tokens) {
    const bool definition = tokens[0].Is("def") || tokens[0].Is("class");
    int depth = 0;
    size_t begin = 0;
    for (size_t i = 0; i <= tokens.size(); ++i) {
      const bool end = i == tokens.size();
      if (!end && tokens[i].Opens()) ++depth;
      if (!end && tokens[i].Closes()) --depth;
      const bool colon = !end && depth == 0 && tokens[i].Is(":") && StartsBlock(tokens[begin]);
      if (!end && !colon && (depth > 0 || definition || !tokens[i].Is(";"))) continue;
      if (i > begin) Statement(Tokens(tokens.begin() + begin, tokens.begin() + i));
      if (colon) conditional_ = true;
      begin = i + 1;
    }
  }

  void Statement(const Tokens& tokens) {
    const PythonToken& first = tokens[0];
    const bool named = tokens.size() > 1 && tokens[1].text == name_;
    if (first.Is("class") || first.Is("def")) {
      if (named)
        Found(first.Is("class") ? NameBinding::Kind::kClass : NameBinding::Kind::kFunction);
    } else if (first.Is("import") || first.Is("from")) {
      Import(tokens);
    } else if (first.Is("for")) {
      const auto in = std::find_if(tokens.begin(), tokens.end(),
                                   [](const PythonToken& t) { return t.Is("in"); });
      if (Names(tokens, 1, static_cast<size_t>(in - tokens.begin())))
        Found(NameBinding::Kind::kOther);
    } else if (first.Is("del") || first.Is("with") || first.Is("except") || first.Is("async") ||
               first.Is("match") || first.Is("case")) {
      if (Names(tokens, 1, tokens.size())) Found(NameBinding::Kind::kOther);
    } else if (!first.Is("@")) {
      Assignment(tokens);
    }
  }

  // Every name left of the last `=` counts; so does any that is handed to what may change it.
  void Assignment(const Tokens& tokens) {
    int depth = 0;
    size_t last = 0;
    bool hidden = false;
    for (size_t i = 0; i < tokens.size(); ++i) {
      const PythonToken& token = tokens[i];
      if (token.Opens()) ++depth;
      if (token.Closes()) --depth;
      if (token.Assigns() && (depth == 0 || token.Is(":="))) last = i;
      if (depth == 0 && token.Is(":") && last == 0) last = i;  // `name: type`
      for (const char* word : {"globals", "locals", "vars", "setattr", "exec", "eval", "delattr"}) {
        hidden = hidden || token.Is(word);
      }
    }
    if (hidden || Names(tokens, 0, last)) Found(NameBinding::Kind::kOther);
  }

  void Import(const Tokens& tokens) {
    const bool from = tokens[0].Is("from");
    size_t at = 1;
    std::string module;
    while (from && at < tokens.size() && !tokens[at].Is("import")) module += tokens[at++].text;
    if (from) ++at;
    std::string path;
    for (; at <= tokens.size(); ++at) {
      const bool end = at == tokens.size() || tokens[at].Is(",");
      if (!end && tokens[at].Is("as") && at + 1 < tokens.size()) {
        if (tokens[at + 1].text == name_) Found(NameBinding::Kind::kImport, Whole(module, path));
        path.clear();
        ++at;
      } else if (!end && (tokens[at].Is("(") || tokens[at].Is(")"))) {
        continue;
      } else if (!end) {
        path += tokens[at].text;
      } else {
        // `import a.b` binds a; a star may bind anything.
        const std::string bound = from ? path : path.substr(0, path.find('.'));
        if (bound == name_) Found(NameBinding::Kind::kImport, from ? Whole(module, path) : bound);
        if (path == "*") Found(NameBinding::Kind::kOther);
        path.clear();
      }
    }
  }

  static std::string Whole(const std::string& module, const std::string& path) {
    if (module.empty()) return path;
    return module.ends_with(".") ? module + path : module + "." + path;
  }

  const std::vector<PythonLine>& lines_;
  std::string_view name_;
  const PythonLine* line_ = nullptr;
  bool conditional_ = false, decorated_ = false;
  std::vector<NameBinding> found_;
};

}  // namespace

std::vector<NameBinding> BindingsOf(const std::vector<PythonLine>& lines, std::string_view name) {
  return Finder(lines, name).Run();
}

}  // namespace kernelmap
