// One build variant, whatever it is for: its metadata, its files and its layers, read and checked.
#pragma once

#include <string>

#include "compiler/plan.h"
#include "compiler/store/content.h"
#include "compiler/store/folder.h"
#include "compiler/store/metadata.h"

namespace kernelmap {

struct Build {
  Metadata metadata;
  std::string metadata_sha256;  // of the text that `metadata` was read from
  VariantContent content;
  std::string layers;   // text of layers.py or layers/__init__.py; "" when neither is there
  std::string binding;  // text of kernelmap.toml; "" when it is not there
};

/// Reads metadata.json of the variant in `folder` at `path`. False, and the reason, where it is not
/// as it should be: `no_metadata`, `bad_metadata` or `unsafe_path`.
bool ReadBuildMetadata(const Folder& folder, const std::string& path, Build* build, Reason* reason);

/// Then the files. False, and the reason, as of ReadContent.
bool ReadBuildContent(const Folder& folder, const std::string& path, Build* build, Reason* reason);

}  // namespace kernelmap
