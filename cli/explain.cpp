// kernelmap explain: a code at length, the trace of a name, or what becomes of a module.
#include "compiler/archive/explain.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/model_commands.h"
#include "cli/output.h"
#include "compiler/archive/error.h"
#include "compiler/archive/file.h"
#include "compiler/catalogue.h"
#include "compiler/compile.h"
#include "compiler/diagnostics.h"
#include "compiler/display.h"
#include "compiler/plan_json.h"
#include "compiler/reasons.h"
#include "compiler/suggest.h"

namespace kernelmap {
namespace {

struct Explanation {
  std::string code, title, text;
};

// Of diagnostics, of errors of archives, and of reasons.
const std::vector<Explanation>& Explanations() {
  static const std::vector<Explanation> explanations = [] {
    std::vector<Explanation> list;
    for (const DiagnosticKind* kind : DiagnosticKinds()) {
      list.push_back({std::string(kind->code),
                      std::string(SeverityName(kind->severity)) + ": " + DiagnosticTitle(*kind),
                      std::string(kind->explanation)});
    }
    for (const ArchiveErrorKind& kind : ArchiveErrorKinds()) {
      list.push_back({std::string(kind.code), "error: " + std::string(kind.title),
                      std::string(kind.explanation)});
    }
    for (const ReasonKind& reason : ReasonKinds()) {
      list.push_back({std::string(reason.code), "reason: " + std::string(reason.text),
                      std::string(reason.explanation)});
    }
    return list;
  }();
  return explanations;
}

std::string Wrap(std::string_view text, size_t width) {
  std::string wrapped;
  size_t column = 0;
  while (!text.empty()) {
    const size_t space = std::min(text.find(' '), text.size());
    if (column > 0 && column + 1 + space > width) {
      wrapped += "\n";
      column = 0;
    } else if (column > 0) {
      wrapped += " ";
      ++column;
    }
    wrapped += text.substr(0, space);
    column += space;
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return wrapped + "\n";
}

const Explanation* FindCode(std::string_view text) {
  for (const Explanation& explanation : Explanations()) {
    const std::string& code = explanation.code;
    const bool same = std::equal(
        code.begin(), code.end(), text.begin(), text.end(),
        [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
    if (same) return &explanation;
  }
  return nullptr;
}

constexpr std::pair<std::string_view, std::string_view> kExamples[] = {
#define KM_EXAMPLE(code, text) {#code, text},
#include "cli/examples.def"
};

// What checking the example of a code finds; empty when the code has none.
std::string ExampleText(std::string_view code) {
  for (const auto& [example, text] : kExamples) {
    if (example != code) continue;
    const Loaded loaded = LoadConfigText(
        text.starts_with("{") ? "kernelmap.json" : "kernelmap.toml", std::string(text));
    std::vector<Diagnostic> found = loaded.diagnostics;
    std::erase_if(found, [&](const Diagnostic& other) { return other.kind->code != code; });
    return "\nFor example:\n\n" + DiagnosticsToText(found, false);
  }
  return "";
}

std::string EntryText(const PlanEntry& entry, const Target& target) {
  std::string text = Printable(entry.name) + " for " + TargetText(target) + ": ";
  if (entry.kernel) {
    text += Printable(entry.kernel->ref) + "\n";
  } else {
    text += std::string(entry.decision == Decision::kDisabled ? "disabled" : "stock code") + ", " +
            Printable(entry.reason->text) + " [" + entry.reason->code + "]\n";
  }
  return text + TraceToText(entry.trace);
}

int PrintCode(const Explanation& found, const Args& args) {
  return WriteResult(args.output, found.code + ": " + found.title + "\n\n" + Wrap(found.text, 80) +
                                      ExampleText(found.code));
}

int Unknown(const std::string& word, const Plan& plan, const std::string& likely_path,
            const std::optional<std::string>& model) {
  std::vector<std::string> words;
  for (const Explanation& explanation : Explanations()) words.push_back(explanation.code);
  for (const PlanEntry& entry : plan.entries) words.push_back(entry.name);
  std::string help =
      likely_path.empty() ? DidYouMean(word, words) : "did you mean `" + likely_path + "`?";
  if (help.empty() && model) help = "`kernelmap inspect` lists the paths of a model";
  if (!model && word.find('.') != std::string::npos) help = "a path needs --model";
  return UsageError("`" + word + "` is neither a code nor a name" +
                    (model ? ", nor the path of a module of " + BaseName(*model) : "") +
                    (help.empty() ? "" : "\nhelp: " + help));
}

// A name of the plan, or the path of a module when there is a model; else a code.
int ExplainWord(const std::optional<std::string>& config, const std::string& word,
                const Args& args) {
  const Compiled compiled = CompilePlan(config, args.target);
  PrintDiagnostics(compiled.diagnostics);
  if (!compiled.error.empty()) UsageError(compiled.error);
  if (!compiled.plan) return compiled.exit_code;
  const Plan& plan = *compiled.plan;
  std::optional<ModuleTree> tree;
  if (args.model) {
    int exit_code = 0;
    tree = ReadTree(*args.model, &exit_code);
    if (!tree) return exit_code;
    for (const ArchiveModule& module : tree->modules) {
      if (module.path != (word == "(root)" ? "" : word)) continue;
      return WriteResult(args.output,
                         ModuleExplanation(*tree, module, plan, BaseName(*args.model)));
    }
  }
  std::string text;
  for (const PlanEntry& entry : plan.entries) {  // several fusions may have one name
    if (entry.name == word) text += (text.empty() ? "" : "\n") + EntryText(entry, plan.target);
  }
  if (!text.empty()) {
    if (tree) text += NameSites(*tree, plan, word, BaseName(*args.model));
    return WriteResult(args.output, text);
  }
  if (const Explanation* found = FindCode(word)) return PrintCode(*found, args);
  const std::string likely = tree ? LikelyPath(*tree, plan, word) : "";
  const bool may_be_name = config && !args.model && word.find('.') == std::string::npos;
  if (likely.empty() && (may_be_name || BuiltinCatalogue().FindLayer(word))) {
    return WriteResult(args.output, Printable(word) + ": stock code, " +
                                        std::string(ReasonText("no_entry")) + " [no_entry]\n");
  }
  return Unknown(word, plan, likely, args.model);
}

}  // namespace

int RunExplain(const Args& args) {
  if (args.inputs.size() == 2) return ExplainWord(args.inputs[0], args.inputs[1], args);
  const Explanation* found = args.model ? nullptr : FindCode(args.inputs[0]);
  return found ? PrintCode(*found, args) : ExplainWord(std::nullopt, args.inputs[0], args);
}

}  // namespace kernelmap
