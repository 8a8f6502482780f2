#include "compiler/store/build.h"

#include <algorithm>
#include <utility>

#include "compiler/sha256.h"

namespace kernelmap {
namespace {

constexpr uint64_t kMaxMetadataBytes = 4u << 20;
constexpr uint64_t kMaxLayersBytes = 4u << 20;

bool Fail(std::string code, std::string text, Reason* reason) {
  *reason = Reason{std::move(code), std::move(text), ""};
  return false;
}

std::string Below(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "/" + name;
}

const RepositoryFile* Find(const Build& build, const std::string& path) {
  for (const RepositoryFile& file : build.content.files) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

bool Changed(const std::string& path, Reason* reason) {
  return Fail("tampered", "`" + path + "` changed while it was read", reason);
}

bool ReadText(const Folder& folder, const std::string& path, const RepositoryFile& file,
              std::string* out, Reason* reason) {
  FolderError error = FolderError::kNone;
  auto text = folder.Read(Below(path, file.path), kMaxLayersBytes, &error);
  if (!text) {
    return Fail("unsafe_path", file.path + " " + std::string(FolderErrorText(error)), reason);
  }
  if (Sha256(*text) != file.sha256) return Changed(file.path, reason);
  *out = std::move(*text);
  return true;
}

// In the package's folder where there is no package at the top.
bool ReadLayers(const Folder& folder, const std::string& path, Build* build, Reason* reason) {
  std::string package;
  if (!Find(*build, "__init__.py")) {
    package = build->metadata.name + "/";
    std::replace(package.begin(), package.end(), '-', '_');
  }
  for (const char* name : {"layers.py", "layers/__init__.py"}) {
    const RepositoryFile* file = Find(*build, package + name);
    if (file) return ReadText(folder, path, *file, &build->layers, reason);
  }
  return true;
}

bool ReadBindingText(const Folder& folder, const std::string& path, Build* build, Reason* reason) {
  const RepositoryFile* file = Find(*build, "kernelmap.toml");
  return !file || ReadText(folder, path, *file, &build->binding, reason);
}

}  // namespace

bool ReadBuildMetadata(const Folder& folder, const std::string& path, Build* build,
                       Reason* reason) {
  FolderError error = FolderError::kNone;
  const auto text = folder.Read(Below(path, "metadata.json"), kMaxMetadataBytes, &error);
  if (!text) {
    const std::string why = "metadata.json " + std::string(FolderErrorText(error));
    if (error == FolderError::kMissing) return Fail("no_metadata", why, reason);
    const bool bad = error == FolderError::kTooLarge || error == FolderError::kFailed;
    return Fail(bad ? "bad_metadata" : "unsafe_path", why, reason);
  }
  std::string problem;
  const auto metadata = ReadMetadata(*text, &problem);
  if (!metadata) return Fail("bad_metadata", "metadata.json: " + problem, reason);
  build->metadata = *metadata;
  build->metadata_sha256 = Sha256(*text);
  return true;
}

bool ReadBuildContent(const Folder& folder, const std::string& path, Build* build, Reason* reason) {
  auto content = ReadContent(folder, path, build->metadata, reason);
  if (!content) return false;
  build->content = std::move(*content);
  const RepositoryFile* metadata = Find(*build, "metadata.json");
  if (!metadata || metadata->sha256 != build->metadata_sha256) {
    return Changed("metadata.json", reason);
  }
  return ReadLayers(folder, path, build, reason) && ReadBindingText(folder, path, build, reason);
}

}  // namespace kernelmap
