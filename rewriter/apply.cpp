#include "rewriter/apply.h"

#include <torch/script.h>

#include <sstream>

#include "compiler/archive/archive.h"
#include "compiler/archive/file.h"
#include "compiler/archive/module_tree.h"
#include "rewriter/archive/embedded_plan.h"
#include "rewriter/error_text.h"
#include "rewriter/modules/kernels.h"
#include "rewriter/rewrite.h"
#include "rewriter/used_kernels.h"

namespace kernelmap {
namespace {

constexpr const char* kPlanFile = "kernelmap/plan.json";
constexpr const char* kReportFile = "kernelmap/report.json";

ApplyResult Error(const std::string& file, const std::string& message, bool usage = false) {
  return {std::nullopt, ApplyError{file, message, usage}};
}

ApplyError Unreadable(const std::string& path, const ArchiveError& error) {
  return {path, Describe(error), error.code == ArchiveErrorCode::kCannotRead,
          std::string(ArchiveErrorKinds()[static_cast<std::size_t>(error.code)].code)};
}

// Loading runs __setstate__: only torch's own quantized modules may have one.
std::string ForeignSetState(const ModuleTree& tree) {
  for (const std::string& name : tree.set_state_classes) {
    const bool torch_own = name.starts_with("__torch__.torch.ao.nn.") ||
                           name.starts_with("__torch__.torch.nn.quantized.") ||
                           name.starts_with("__torch__.torch.classes.");
    if (!torch_own) return name;
  }
  return "";
}

struct OpenedModel {
  std::string sha256;
  torch::jit::ExtraFilesMap extra_files;
  torch::jit::Module module;
};

std::optional<ApplyError> OpenModel(const std::string& path, const ApplyOptions& options,
                                    OpenedModel* out) {
  const auto archive = Archive::Open(path);
  if (!archive) return Unreadable(path, archive.error());
  const auto tree = ReadModuleTree(*archive);
  if (!tree) return Unreadable(path, tree.error());
  if (const std::string name = ForeignSetState(*tree); !name.empty() && !options.run_archive_code) {
    return ApplyError{path,
                      "loading it would run the code of `" + name +
                          ".__setstate__`; --run-archive-code allows that",
                      false};
  }
  const auto digest = Sha256File(path);
  if (!digest) return Unreadable(path, digest.error());
  out->sha256 = *digest;
  for (const std::string& name : archive->extra_files()) out->extra_files[name] = "";
  try {
    DeclareKernels(path);
    out->module = torch::jit::load(path, c10::kCPU, out->extra_files);
  } catch (const std::exception& e) {
    return ApplyError{path, "libtorch cannot load it: " + FirstErrorLine(e), false};
  }
  return std::nullopt;
}

std::string Save(const torch::jit::Module& module, const torch::jit::ExtraFilesMap& extra_files) {
  // Written through a stream, so that no file name gets into the archive.
  std::ostringstream out;
  module.save(out, extra_files);
  return std::move(out).str();
}

}  // namespace

std::optional<ApplyError> CheckArchive(const std::string& path) {
  const auto archive = Archive::Open(path);
  if (!archive) return Unreadable(path, archive.error());
  const auto tree = ReadModuleTree(*archive);
  if (!tree) return Unreadable(path, tree.error());
  return std::nullopt;
}

ApplyResult Apply(const Plan& plan, const std::string& model_path, const ApplyOptions& options,
                  bool decide_only) {
  OpenedModel model;
  if (auto error = OpenModel(model_path, options, &model)) return {std::nullopt, error};
  Applied applied;
  const std::string plan_json = PlanToJson(plan);
  const auto earlier = model.extra_files.find(kPlanFile);
  if (earlier != model.extra_files.end() && !decide_only) {
    if (!SamePlan(earlier->second, plan_json)) {
      const std::string original = OriginalModel(model.extra_files[kReportFile]);
      return Error(model_path, "already rewritten by another plan; apply to the original, sha256 " +
                                   (original.empty() ? "unknown" : original));
    }
    applied.already_applied = true;
  }
  try {
    const bool keep = decide_only || applied.already_applied;
    SiteDecisions decisions =
        RewriteModule(model.module, plan, options.sites, keep, *options.catalogue);
    applied.modules_run = decisions.modules_run;
    applied.report.target = plan.target;
    applied.report.model_file = BaseName(model_path);
    applied.report.model_sha256 = model.sha256;
    const EmbeddedKernels used = UsedKernels(plan, decisions, *options.catalogue);
    applied.report.sites = std::move(decisions.sites);
    if (keep) return {std::move(applied), std::nullopt};
    model.extra_files[kPlanFile] = plan_json;
    model.extra_files[kReportFile] = ReportToJson(applied.report);
    if (!used.kernels.empty()) model.extra_files[kAdaptersFile] = KernelsToJson(used);
    applied.archive = Save(model.module, model.extra_files);
  } catch (const std::exception& e) {
    return Error(model_path, "libtorch refuses the rewritten model: " + FirstErrorLine(e));
  }
  return {std::move(applied), std::nullopt};
}

}  // namespace kernelmap
