// The mapping of a first config, from the classes of a model.
#include <map>
#include <string>
#include <vector>

#include "cli/init.h"
#include "compiler/catalogue.h"
#include "compiler/languages.h"
#include "compiler/plan.h"
#include "compiler/plan_json.h"
#include "compiler/store/folder.h"
#include "compiler/toml_writer.h"
#include "compiler/words.h"

namespace kernelmap {
namespace {

struct ClassUse {
  size_t count = 0;
  std::string path;  // of the first module
};

// A name, and the classes that answer to it.
struct NameUse {
  std::map<std::string, ClassUse> classes;
  bool hinted = true;  // by all of them
};

// A plan of one of the two mappings alone. No kernel of the Hub is there, and none is looked for.
Plan PlanOf(const std::string& mapping, const Target& target) {
  const Loaded loaded = LoadConfigText("", "default_mapping = \"" + mapping + "\"\n");
  return Resolve(&*loaded.config, target, Environment{});
}

// The lines of transformers' mapping for a name, as comments.
std::string HubLines(const std::string& name) {
  std::string lines;
  std::string_view text = TransformersMappingText();
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.starts_with(name + ".")) lines += "# " + std::string(line) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string ClassLines(const NameUse& use) {
  std::string lines;
  for (const auto& [name, found] : use.classes) {
    lines += "# " + Visible(name) + ": " + CountOf(found.count, "module") + ", such as " +
             (found.path.empty() ? "the whole model" : Visible(found.path)) +
             (use.hinted ? "; its code decides\n" : "\n");
  }
  return lines;
}

// The lines for one name. `kernel` is the built-in one, "" where there is none.
std::string NameLines(const std::string& name, const std::string& kernel, const NameUse* use) {
  const std::string hub = HubLines(name);
  if (kernel.empty() && hub.empty()) return "";
  std::string lines = use ? "\n" + ClassLines(*use) : "";
  if (!kernel.empty()) lines += TomlKey(name) + " = " + TomlString(kernel) + "\n";
  if (hub.empty()) return lines;
  lines += kernel.empty() ? "# No built-in kernel. Kernels of the Hub:\n"
                          : "# Kernels of the Hub, to stand in its place:\n";
  return lines + hub;
}

}  // namespace

std::string TargetTable(const TargetFlags& flags, const Target& target) {
  std::string lines;
  const auto add = [&](const char* key, const std::string& value) {
    lines += std::string(key) + " = " + TomlString(value) + "\n";
  };
  if (flags.device) add("device", target.device);
  if (flags.capability && target.capability) add("capability", CapabilityText(target.capability));
  if (flags.mode) add("mode", target.mode);
  if (flags.torch) add("torch", target.torch);
  if (flags.cuda) add("cuda", *flags.cuda);
  if (flags.rocm) add("rocm", *flags.rocm);
  if (flags.xpu) add("xpu", *flags.xpu);
  return lines.empty() ? "" : "\n[target]\n" + lines;
}

std::string WrappedRoot(const ModuleTree& tree) {
  if (tree.modules.empty() || !tree.modules.front().parameters.empty() ||
      !tree.modules.front().buffers.empty()) {
    return "";
  }
  std::string child;
  for (const ArchiveModule& module : tree.modules) {
    if (module.path.empty() || module.path.find('.') != std::string::npos) continue;
    if (!child.empty()) return "";
    child = module.path;
  }
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  return child.find_first_not_of(kLetters) == std::string::npos ? child : "";
}

std::string FirstMapping(const ModuleTree* tree, const Target& target) {
  const Plan builtin = PlanOf("builtin", Target{}), all = PlanOf("transformers", target);
  std::map<std::string, NameUse> names;
  std::map<std::string, std::vector<Answer>> answers;
  std::map<std::string, size_t> others;
  for (const ArchiveModule& module : tree ? tree->modules : std::vector<ArchiveModule>()) {
    const auto [it, added] = answers.try_emplace(module.class_name);
    if (added) it->second = AnswersFor(all, module.class_name);
    if (it->second.empty()) ++others[module.class_name];
    for (const Answer& answer : it->second) {
      NameUse& use = names[answer.entry->name];
      use.hinted = use.hinted && answer.hinted;
      ClassUse& found = use.classes[module.class_name];
      if (++found.count == 1) found.path = module.path;
    }
  }
  std::string lines, inherited;
  for (const PlanEntry& entry : all.entries) {
    const PlanEntry* stock = builtin.Find(entry.name);
    const std::string kernel = stock && stock->kernel ? stock->kernel->ref : "";
    const auto use = names.find(entry.name);
    const Layer* layer = BuiltinCatalogue().FindLayer(entry.name);
    if (tree && use == names.end()) {
      if (layer && layer->function && !kernel.empty()) {
        inherited += (inherited.empty() ? "" : ", ") + entry.name;
      }
      continue;
    }
    if (!tree && kernel.empty()) continue;
    lines += NameLines(entry.name, kernel, tree ? &use->second : nullptr);
  }
  std::string text = "\n[kernel_mapping]";
  text += (lines.starts_with('\n') ? "" : "\n") + lines;
  if (!inherited.empty()) {
    text += "\n# Inherited, for code in any module: " + inherited + ". \"\" turns one off.\n";
  }
  if (!others.empty()) {
    text += "\n# Classes that no kernel stands for:";
    for (const auto& [name, count] : others) {
      text += "\n#   " + Visible(name) + " (" + std::to_string(count) + ")";
    }
    text += "\n";
  }
  return text;
}

}  // namespace kernelmap
