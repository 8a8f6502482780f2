// kernelmap man: kernelmap(1), from the table of commands.
#include <string>

#include "cli/commands.h"
#include "cli/completions.h"
#include "cli/output.h"

namespace kernelmap {
namespace {

// Text as roff takes it anywhere in a line.
std::string Roff(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else if (text.substr(i).starts_with("…")) {
      out += "...";
      i += 2;
    } else if (text.substr(i).starts_with("·")) {
      out += "\\(bu";
      i += 1;
    } else {
      out += c;
    }
  }
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string ValueOf(const OptionInfo& option) {
  if (!option.takes_value) return "";
  std::string words;
  for (const std::string& choice : option.choices) words += (words.empty() ? "" : "|") + choice;
  return " " + (words.empty() ? "\\fIVALUE\\fR" : Roff(words));
}

}  // namespace

std::string ManualPage() {
  std::string text =
      ".TH KERNELMAP 1 \"\" \"kernelmap " + Roff(Version()) +
      "\" \"User Commands\"\n"
      ".SH NAME\n"
      "kernelmap \\- put optimised kernels into TorchScript archives\n"
      ".SH SYNOPSIS\n"
      ".B kernelmap\n"
      ".I COMMAND\n"
      "[...]\n"
      ".SH DESCRIPTION\n"
      "A config says which kernel stands for which layer or function.\n"
      "kernelmap checks it, plans it for a target, and rewrites an archive with it.\n"
      "Results go to standard output, diagnostics to standard error.\n"
      ".SH COMMANDS\n";
  for (const Command& command : Commands()) {
    text += ".SS " + Roff(command.name) + "\n" + Roff(command.help) + ".\n.PP\n.B kernelmap\n" +
            Roff(command.usage) + "\n";
    for (const OptionInfo& option : OptionsOf(command)) {
      text += ".TP\n\\fB" + Roff(option.name) + "\\fR" + ValueOf(option) + "\n" +
              Roff(option.help) + "\n";
    }
  }
  return text +
         ".SH EXIT STATUS\n"
         ".TP\n0\nfine\n"
         ".TP\n1\nthe input has errors, or a check that was asked for failed\n"
         ".TP\n2\nwrong usage, or a file that cannot be read or written\n"
         ".TP\n130\ninterrupted\n"
         ".SH ENVIRONMENT\n"
         ".B kernelmap doctor\n"
         "says what is set and what it does.\n";
}

int RunMan(const Args& args) { return WriteResult(args.output, ManualPage()); }

}  // namespace kernelmap
