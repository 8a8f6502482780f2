// kernelmap completions bash|zsh|fish.
#include "cli/completions.h"

#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/output.h"
#include "compiler/suggest.h"
#include "compiler/words.h"

namespace kernelmap {
namespace {

// In single quotes, for all three shells: fish takes \' within them, the others need to end them.
std::string Quoted(std::string_view text, bool fish) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += fish ? "\\'" : "'\\''";
    } else if (c == '\\' && fish) {
      out += "\\\\";
    } else {
      out += c;
    }
  }
  return out + "'";
}

// The words that a command takes in place of files.
std::vector<std::string> WordsOf(const Command& command) {
  if (command.name == "kernels") return {"list", "info", "check"};
  if (command.name == "completions") return {"bash", "zsh", "fish"};
  return {};
}

// Text within an option's [description] of zsh's _arguments.
std::string ZshText(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string BashCompletions() {
  std::string names, cases;
  for (const Command& command : Commands()) {
    names += (names.empty() ? "" : " ") + std::string(command.name);
    std::string options, values;
    for (const OptionInfo& option : OptionsOf(command)) {
      options += (options.empty() ? "" : " ") + option.name;
      if (!option.choices.empty()) {
        values += "        " + option.name + ") COMPREPLY=($(compgen -W '" +
                  JoinTexts(option.choices, " ") + "' -- \"$word\")); return ;;\n";
      } else if (option.takes_value) {
        values +=
            "        " + option.name + ") COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n";
      }
    }
    cases += "    " + std::string(command.name) + ")\n      options='" + options + "'\n";
    const std::vector<std::string> words = WordsOf(command);
    if (!words.empty()) cases += "      words='" + JoinTexts(words, " ") + "'\n";
    if (!values.empty()) cases += "      case $before in\n" + values + "      esac\n";
    cases += "      ;;\n";
  }
  return "# Completions of kernelmap for bash: kernelmap completions bash\n"
         "_kernelmap() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before= options= words=\n"
         "  COMPREPLY=()\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    COMPREPLY=($(compgen -W '" +
         names +
         " --help --version' -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  before=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases +
         "  esac\n"
         "  case $word in\n"
         "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
         "    *) COMPREPLY=($(compgen -W \"$words\" -- \"$word\") $(compgen -f -- \"$word\")) ;;\n"
         "  esac\n"
         "}\n"
         "complete -o filenames -F _kernelmap kernelmap\n";
}

std::string ZshCompletions() {
  std::string names, cases;
  for (const Command& command : Commands()) {
    names += "    " + Quoted(std::string(command.name) + ":" + ZshText(command.help), false) + "\n";
    cases += "    " + std::string(command.name) + ")\n      _arguments \\\n";
    for (const OptionInfo& option : OptionsOf(command)) {
      std::string spec = option.name + "[" + ZshText(option.help) + "]";
      if (!option.choices.empty()) {
        spec += ":value:(" + JoinTexts(option.choices, " ") + ")";
      } else if (option.takes_value) {
        spec += ":value:_files";
      }
      cases += "        " + Quoted("*" + spec, false) + " \\\n";
    }
    const std::vector<std::string> words = WordsOf(command);
    cases += words.empty() ? "        '*:file:_files'\n"
                           : "        '1:word:(" + JoinTexts(words, " ") + ")' '*:file:_files'\n";
    cases += "      ;;\n";
  }
  return "#compdef kernelmap\n"
         "# Completions of kernelmap for zsh: kernelmap completions zsh\n"
         "_kernelmap() {\n"
         "  local -a commands=(\n" +
         names +
         "  )\n"
         "  if ((CURRENT == 2)); then\n"
         "    _describe command commands\n"
         "    return\n"
         "  fi\n"
         "  local command=$words[2]\n"
         "  shift words\n"
         "  ((CURRENT--))\n"
         "  case $command in\n" +
         cases +
         "  esac\n"
         "}\n"
         "compdef _kernelmap kernelmap\n";
}

std::string FishCompletions() {
  std::string text =
      "# Completions of kernelmap for fish: kernelmap completions fish\n"
      "complete -c kernelmap -n __fish_use_subcommand -f\n";
  for (const Command& command : Commands()) {
    const std::string name(command.name);
    const std::string line = "complete -c kernelmap -n '__fish_seen_subcommand_from " + name + "'";
    text += "complete -c kernelmap -n __fish_use_subcommand -a " + name + " -d " +
            Quoted(command.help, true) + "\n";
    if (const auto words = WordsOf(command); !words.empty()) {
      text += line + " -a " + Quoted(JoinTexts(words, " "), true) + "\n";
    }
    for (const OptionInfo& option : OptionsOf(command)) {
      const bool is_long = option.name.starts_with("--");
      text +=
          line + (is_long ? " -l " : " -s ") + option.name.substr(is_long ? 2 : 1) +
          (option.takes_value ? " -r" : "") +
          (option.choices.empty() ? "" : " -f -a " + Quoted(JoinTexts(option.choices, " "), true)) +
          " -d " + Quoted(option.help, true) + "\n";
    }
  }
  return text;
}

int RunCompletions(const Args& args) {
  const std::string& shell = args.inputs.front();
  if (shell == "bash") return WriteResult(args.output, BashCompletions());
  if (shell == "zsh") return WriteResult(args.output, ZshCompletions());
  if (shell == "fish") return WriteResult(args.output, FishCompletions());
  return UsageError("no completions for `" + shell +
                    "`\nhelp: " + DidYouMeanOneOf(shell, {"bash", "zsh", "fish"}));
}

}  // namespace kernelmap
