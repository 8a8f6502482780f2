#include "cli/model_commands.h"

#include <cstdio>

#include "cli/output.h"
#include "compiler/archive/file.h"
#include "compiler/archive/inspect.h"
#include "compiler/archive/module_tree.h"
#include "compiler/archive/sites.h"

namespace kernelmap {
namespace {

constexpr int kBadInput = 1, kBadFile = 2;

int ReportError(const std::string& model, const ArchiveError& error) {
  std::fputs(ArchiveErrorToText(model, error).c_str(), stderr);
  return error.code == ArchiveErrorCode::kCannotRead ? kBadFile : kBadInput;
}

}  // namespace

int Inspect(const InspectOptions& options) {
  const ArchiveResult<Archive> archive = Archive::Open(options.model);
  if (!archive) return ReportError(options.model, archive.error());
  const ArchiveResult<ModuleTree> tree = ReadModuleTree(*archive);
  if (!tree) return ReportError(options.model, tree.error());
  const std::string file = BaseName(options.model);
  return WriteResult(options.output, options.json ? InspectToJson(file, *archive, *tree)
                                                  : InspectToText(file, *archive, *tree));
}

int AddSitesOfModel(const std::string& model, Plan* plan) {
  const ArchiveResult<Archive> archive = Archive::Open(model);
  if (!archive) return ReportError(model, archive.error());
  const ArchiveResult<ModuleTree> tree = ReadModuleTree(*archive);
  if (!tree) return ReportError(model, tree.error());
  AddModelSites(*tree, plan);
  return 0;
}

}  // namespace kernelmap
