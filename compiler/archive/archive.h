// A TorchScript archive opened for reading: a zip whose entries lie in one folder, with `data.pkl`
// (the module), `code/` (its classes), `data/` and `constants/` (tensors), `extra/` (files beside
// it) and `version`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/archive/error.h"
#include "compiler/archive/zip.h"

namespace kernelmap {

class Archive {
 public:
  /// What is no TorchScript archive is an error that says what it seems to be instead.
  static ArchiveResult<Archive> Open(const std::string& path, const ZipLimits& limits = {});

  const ZipFile& zip() const { return zip_; }

  /// The folder that holds the entries, with its slash: "llama/".
  const std::string& root() const { return root_; }

  /// Of the archive format: what the entry `version` says.
  int version() const { return version_; }

  /// The entry of this name under the root, or null.
  const ZipEntry* Find(std::string_view name) const;

  /// Names of the extra files, as torch.jit.load's _extra_files takes them, sorted.
  const std::vector<std::string>& extra_files() const { return extra_files_; }

  /// The bytes of an extra file; nothing when the archive has none of that name.
  ArchiveResult<std::optional<std::string>> ReadExtraFile(std::string_view name) const;

 private:
  explicit Archive(ZipFile zip) : zip_(std::move(zip)) {}

  ZipFile zip_;
  std::string root_;
  int version_ = 0;
  std::vector<std::string> extra_files_;
};

}  // namespace kernelmap
