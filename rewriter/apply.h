// The main job: a plan and an archive in, a rewritten archive and a report out.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "compiler/plan.h"
#include "compiler/report.h"
#include "rewriter/sites.h"

namespace kernelmap {

/// What went wrong with a file, for one line of error. `usage`: the file cannot be read or written
/// (exit 2); otherwise its content is wrong (exit 1).
struct ApplyError {
  std::string file;  // as the caller named it
  std::string message;
  bool usage = false;
  std::string code = "";  // "KM0804", of an archive that cannot be read
};

/// Nothing where `path` is a TorchScript archive, as far as can be told without libtorch.
std::optional<ApplyError> CheckArchive(const std::string& path);

struct ApplyOptions {
  bool run_archive_code = false;  // allow __setstate__ outside torch's own quantized modules
  SiteOptions sites;
  const Catalogue* catalogue = &BuiltinCatalogue();
};

struct Applied {
  Report report;
  std::string archive;           // the rewritten archive's bytes; empty when nothing was asked for
  int modules_run = 0;           // on sample inputs, for guard = "numeric"
  bool already_applied = false;  // by the same plan: `archive` is empty and nothing changes
};

/// Reads the model, decides all sites and, unless `decide_only`, makes the rewritten archive.
/// Runs no code of the archive but that of modules which guard = "numeric" is for.
struct ApplyResult {
  std::optional<Applied> applied;
  std::optional<ApplyError> error;
};
ApplyResult Apply(const Plan& plan, const std::string& model_path, const ApplyOptions& options,
                  bool decide_only = false);

}  // namespace kernelmap
