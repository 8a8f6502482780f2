#include "cli/model_commands.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

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

int WriteOutput(const std::string& output, std::string_view text) {
  std::FILE* file = output == "-" ? stdout : std::fopen(output.c_str(), "wb");
  bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file) written = (file == stdout ? std::fflush(file) : std::fclose(file)) == 0 && written;
  if (written) return 0;
  std::fprintf(stderr, "%s: error: cannot write it: %s\n", output.c_str(), std::strerror(errno));
  return kBadFile;
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

int Inspect(const InspectOptions& options) {
  const ArchiveResult<Archive> archive = Archive::Open(options.model);
  if (!archive) return ReportError(options.model, archive.error());
  const ArchiveResult<ModuleTree> tree = ReadModuleTree(*archive);
  if (!tree) return ReportError(options.model, tree.error());
  const std::string file = BaseName(options.model);
  return WriteOutput(options.output, options.json ? InspectToJson(file, *archive, *tree)
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
