#include "compiler/hub/snapshot.h"

#include <algorithm>
#include <set>

#include "compiler/hub/cache_writer.h"
#include "compiler/store/cache.h"
#include "compiler/store/variant_name.h"

namespace kernelmap {

bool IsByteCode(const std::string& path) {
  return path.ends_with(".pyc") || path.find("/__pycache__/") != path.npos;
}

std::vector<std::string> BuildNames(const std::vector<HubFile>& tree) {
  std::set<std::string> names;
  for (const HubFile& file : tree) {
    const size_t slash = file.path.find('/', 6);
    if (!file.path.starts_with("build/") || slash == file.path.npos) continue;
    const std::string text = file.path.substr(6, slash - 6);
    const auto name = VariantName::Parse(text);
    if (name && name->Text() == text) names.insert(text);
  }
  return {names.begin(), names.end()};
}

const HubFile* FindFile(const std::vector<HubFile>& tree, const std::string& path) {
  const auto place = std::lower_bound(
      tree.begin(), tree.end(), path,
      [](const HubFile& file, const std::string& wanted) { return file.path < wanted; });
  return place != tree.end() && place->path == path ? &*place : nullptr;
}

std::vector<bool> PresentFiles(const std::string& cache, const std::string& repo,
                               const std::string& commit, const std::vector<HubFile>& files) {
  std::vector<bool> present(files.size());
  const std::string snapshot = "snapshots/" + commit;
  for (const Folder& folder : OpenRepository(cache, repo)) {
    if (!folder.HasFolder(snapshot)) continue;
    for (size_t i = 0; i < files.size(); ++i) {
      FolderError error;
      uint64_t size = 0;
      const Descriptor file = folder.OpenFile(snapshot + "/" + files[i].path, &size, &error);
      present[i] = file && HasContent(file, files[i]);
    }
    break;  // the store looks no further
  }
  return present;
}

bool HasPartials(const std::string& cache, const std::string& repo) {
  for (const Folder& folder : OpenRepository(cache, repo)) {
    FolderError error;
    std::set<std::string> blobs;
    std::vector<std::string> partials;
    for (const FolderEntry& entry :
         folder.List("blobs", &error).value_or(std::vector<FolderEntry>{})) {
      blobs.insert(entry.name);
      if (entry.name.ends_with(".incomplete")) partials.push_back(entry.name);
    }
    for (const std::string& name : partials) {
      if (!blobs.contains(name.substr(0, name.find('.')))) return true;
    }
  }
  return false;
}

}  // namespace kernelmap
