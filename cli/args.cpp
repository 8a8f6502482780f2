// Arguments through CLI11, which stops here.
#include "cli/args.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "compiler/display.h"

namespace kernelmap {
namespace {

// The usage line of the table, in place of CLI11's own.
class Formatter : public CLI::Formatter {
 public:
  explicit Formatter(std::string_view usage) : usage_(usage) {}
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: kernelmap " + usage_ + "\n";
  }

 private:
  std::string usage_;
};

void AddTargetFlags(CLI::App* app, TargetFlags* flags) {
  app->add_option("--device", flags->device, "cpu, cuda, rocm, mps, xpu, npu, neuron, tpu or auto");
  app->add_option("--capability", flags->capability,
                  "of CUDA and ROCm: 9.0, sm_90, gfx942, auto (this machine's)");
  app->add_option("--mode", flags->mode, "inference or training, either with |torch_compile");
  app->add_option("--torch", flags->torch, "the version that will run the model: 2.13");
  app->add_option("--cuda", flags->cuda, "the version of CUDA: 13.0");
  app->add_option("--rocm", flags->rocm, "the version of ROCm");
  app->add_option("--xpu", flags->xpu, "the version of XPU");
}

void AddTargets(
    CLI::App* app, Args* args,
    const char* help = "DEVICE or DEVICE:CAPABILITY, as often as wanted: cpu, cuda:9.0") {
  app->add_option("--target", args->targets, help)
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

void AddOption(Option option, CLI::App* app, Args* args) {
  switch (option) {
    case Option::kFormat:
      app->add_option("--format", args->format, "text or json")
          ->check(CLI::IsMember({"text", "json"}));
      break;
    case Option::kPageFormat:
      app->add_option("--format", args->format, "text, json, or html for a page by itself")
          ->check(CLI::IsMember({"text", "json", "html"}));
      break;
    case Option::kReportFormat:
      app->add_option("--verified", args->verified,
                      "what `verify --format json` wrote: how far apart each site's outputs are");
      app->add_option("--format", args->format, "text, markdown, html or json")
          ->check(CLI::IsMember({"text", "markdown", "html", "json"}));
      break;
    case Option::kCheckFormat:
      app->add_option("--format", args->format, "text, json, sarif, or github for its annotations")
          ->check(CLI::IsMember({"text", "json", "sarif", "github"}));
      break;
    case Option::kOutput:
      app->add_option("-o", args->output, "write the result to this file; - is standard output");
      break;
    case Option::kStrict:
      app->add_flag("--strict", args->strict, "warnings of check, fallbacks of apply are errors");
      break;
    case Option::kProve:
      app->add_flag("--prove", args->prove, "decide each site as apply would (needs --model)");
      break;
    case Option::kModel:
      app->add_option("--model", args->model, "a TorchScript archive");
      break;
    case Option::kReport:
      app->add_option("--report", args->report, "write the report (JSON) to this file");
      break;
    case Option::kVerify:
      app->add_flag("--verify", args->verify,
                    "run both archives and compare before OUT is written");
      break;
    case Option::kDepfile:
      app->add_option("--depfile", args->depfile,
                      "write what OUT was made from, for make or ninja");
      break;
    case Option::kInputs:
      app->add_option("--inputs", args->inputs_file, "a tuple of tensors that torch.save wrote");
      break;
    case Option::kDevice:
      app->add_option("--device", args->target.device, "where to run: cpu or cuda");
      break;
    case Option::kRunArchiveCode:
      app->add_flag("--run-archive-code", args->run_archive_code,
                    "allow the archive's own __setstate__ to run while it is loaded");
      break;
    case Option::kRuns:
      app->add_option("--runs", args->runs, "runs of each model")->check(CLI::Range(1, 100000));
      break;
    case Option::kLocked:
      app->add_flag("--locked", args->locked,
                    "an error where the store is not as kernelmap.lock beside the config has it");
      app->add_option_function<std::string>(
          "--lock",
          [args](const std::string& file) {
            if (file.empty()) throw CLI::ValidationError("--lock", "the name of a file is empty");
            args->locked = true;
            args->lock_file = file;
          },
          "--locked, with this lock file");
      break;
    case Option::kFetch:
      AddTargets(app, args);
      app->add_flag("--all-variants", args->all_variants,
                    "every build of each kernel, whatever it is for");
      break;
    case Option::kLock:
      AddTargets(app, args);
      app->add_option("--torch", args->target.torch, "the version that will run the model: 2.13");
      app->add_option("--cuda", args->target.cuda, "the version of CUDA, for targets on it: 13.0");
      app->add_option("--rocm", args->target.rocm, "the version of ROCm, for targets on it");
      app->add_option("--xpu", args->target.xpu, "the version of XPU, for targets on it");
      app->add_option("-o", args->lock_output,
                      "the lock file, kernelmap.lock beside CONFIG; - is standard output");
      break;
    case Option::kKernels:
      app->add_option("--trusted-publisher", args->kernels.trusted_publishers,
                      "whose Hub kernels may be loaded, kernels-community if not given")
          ->expected(1)
          ->take_all()
          ->allow_extra_args(false);
      app->add_flag("--allow-all-kernels", args->kernels.allow_all_kernels,
                    "load Hub kernels of any publisher");
      app->add_option("--local-kernel", args->kernels.local_kernels,
                      "a folder with a kernel that is not of the Hub; may be loaded")
          ->check(CLI::ExistingDirectory)
          ->expected(1)
          ->take_all()
          ->allow_extra_args(false);
      break;
    case Option::kDiff:
      AddTargets(
          app, args,
          "DEVICE[:CAPABILITY][:MODE], as often as wanted: cpu, cuda:9.0, cuda:8.0:training");
      app->add_option("--format", args->format, "text, markdown, html or json")
          ->check(CLI::IsMember({"text", "markdown", "html", "json"}));
      app->add_flag("--exit-code", args->diff.exit_code, "exit with 1 where something differs");
      app->add_option("--fail-on", args->diff.fail_on,
                      "exit with 1 where a name or site newly falls back (fallback), or more or "
                      "other code is trusted (trust)")
          ->check(CLI::IsMember({"fallback", "trust"}))
          ->expected(1)
          ->take_all()
          ->allow_extra_args(false);
      app->add_flag("--git-driver", args->diff.git_driver,
                    "as git's external diff, with the arguments that git gives");
      break;
    case Option::kInit:
      app->add_option("--from", args->init.from, "a config in JSON, as kernelmap.dump writes it");
      app->add_flag("--force", args->init.force, "replace the file of -o where it is there");
      break;
    case Option::kFmt:
      app->add_flag("--check", args->fmt.check, "write nothing; exit with 1 where a file differs");
      app->add_flag("--diff", args->fmt.diff, "write nothing; print what would change");
      break;
    case Option::kTarget:
      AddTargetFlags(app, &args->target);
      break;
  }
}

// The words of "TEXT:{text,json}", which is how CLI11 names a choice.
std::vector<std::string> ChoicesOf(const std::string& type) {
  std::vector<std::string> words;
  const size_t open = type.find('{'), close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos) return words;
  for (size_t at = open + 1; at < close;) {
    const size_t end = std::min(type.find(',', at), close);
    words.push_back(type.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace

std::vector<OptionInfo> OptionsOf(const Command& command) {
  Args args;
  CLI::App app;
  for (const Option option : command.options) AddOption(option, &app, &args);
  std::vector<OptionInfo> infos;
  for (const CLI::Option* option : app.get_options()) {
    OptionInfo info;
    info.takes_value = option->get_items_expected_max() > 0;
    info.help = option->get_description();
    info.choices = ChoicesOf(option->get_type_name());
    info.name = option->get_lnames().empty() ? "-" + option->get_snames().front()
                                             : "--" + option->get_lnames().front();
    infos.push_back(std::move(info));
  }
  return infos;
}

namespace {

// An output that is, under any name, a file that is read: the original would be lost. Only `apply`
// may be told to put the rewritten model in the model's place.
std::string OverwrittenInput(const Command& command, const Args& args) {
  std::vector<std::string> inputs = args.inputs;
  for (const auto& input : {args.model, args.inputs_file, args.verified}) {
    if (input) inputs.push_back(*input);
  }
  std::vector<std::string> outputs;
  for (const auto& output :
       {std::optional(args.output), args.report, args.depfile, args.lock_output}) {
    if (output && *output != "-") outputs.push_back(*output);
  }
  for (const std::string& output : outputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::string& input = inputs[i];
      const bool is_model = i + 1 == args.inputs.size();
      if (command.name == "apply" && is_model && output == args.output) continue;
      std::error_code error;  // of those that are not there
      if (std::filesystem::is_regular_file(output, error) &&
          std::filesystem::equivalent(input, output, error)) {
        return "`" + output + "` would be overwritten, and it is read: name another file";
      }
    }
  }
  return "";
}

}  // namespace

std::optional<Args> ParseArgs(const Command& command, const std::vector<std::string>& words,
                              int* exit_code) {
  Args args;
  CLI::App app(std::string(command.help), "kernelmap " + std::string(command.name));
  app.formatter(std::make_shared<Formatter>(command.usage));
  app.add_option("inputs", args.inputs)->group("");
  for (const Option option : command.options) AddOption(option, &app, &args);
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    *exit_code = 0;
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "kernelmap %s: error: %s\nhelp: kernelmap %s\n",
                 std::string(command.name).c_str(), Printable(error.what()).c_str(),
                 std::string(command.usage).c_str());
    *exit_code = 2;
    return std::nullopt;
  }
  const size_t count = args.inputs.size();
  if (count < command.min_inputs || count > command.max_inputs) {
    std::fprintf(stderr, "kernelmap %s: error: %s arguments\nhelp: kernelmap %s\n",
                 std::string(command.name).c_str(),
                 count < command.min_inputs ? "too few" : "too many",
                 std::string(command.usage).c_str());
    *exit_code = 2;
    return std::nullopt;
  }
  if (const std::string problem = OverwrittenInput(command, args); !problem.empty()) {
    std::fprintf(stderr, "kernelmap %s: error: %s\n", std::string(command.name).c_str(),
                 Printable(problem).c_str());
    *exit_code = 2;
    return std::nullopt;
  }
  return args;
}

}  // namespace kernelmap
