#include "cli/model_commands.h"

#include <cstdio>
#include <utility>

#include "cli/output.h"
#include "compiler/archive/check_model.h"
#include "compiler/archive/file.h"
#include "compiler/archive/inspect.h"
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

std::optional<ModuleTree> ReadTree(const std::string& model, int* exit_code, std::string* message) {
  const ArchiveResult<Archive> archive = Archive::Open(model);
  ArchiveResult<ModuleTree> tree =
      archive ? ReadModuleTree(*archive) : ArchiveResult<ModuleTree>(archive.error());
  if (tree) return std::move(*tree);
  *exit_code = ReportError(model, tree.error());
  if (message) {
    *message = ArchiveErrorToText(model, tree.error());
    message->pop_back();  // the end of the line
  }
  return std::nullopt;
}

int AddSitesOfModel(const std::string& model, Compiled* compiled) {
  int exit_code = 0;
  const std::optional<ModuleTree> tree = ReadTree(model, &exit_code);
  if (!tree) return exit_code;
  if (compiled->config) PrintDiagnostics(ModelPathFindings(*compiled->config, *tree, model));
  AddModelSites(*tree, &*compiled->plan);
  return exit_code;
}

}  // namespace kernelmap
