#include "tests/store/sample.h"

#include <stdlib.h>

#include <fstream>

#include "compiler/sha256.h"

namespace kernelmap {

namespace fs = std::filesystem;

Sample::Sample() {
  std::string path = (fs::temp_directory_path() / "km-store-XXXXXX").string();
  root_ = mkdtemp(path.data());
}

Sample::~Sample() { fs::remove_all(root_); }

void Sample::Write(const std::string& path, const std::string& text) const {
  fs::create_directories((root_ / path).parent_path());
  std::ofstream(root_ / path, std::ios::binary) << text;
}

void Sample::Link(const std::string& path, const std::string& target) const {
  fs::create_directories((root_ / path).parent_path());
  fs::remove(root_ / path);
  fs::create_symlink(target, root_ / path);
}

std::string Folder(std::string repo) {
  repo.replace(repo.find('/'), 1, "--");
  return "kernels--" + repo;
}

std::string Sample::AddCommit(const std::string& repo, const std::string& commit,
                              const std::map<std::string, std::string>& files) const {
  const std::string snapshot = Folder(repo) + "/snapshots/" + commit;
  fs::create_directories(root_ / snapshot);
  for (const auto& [path, text] : files) {
    const std::string blob = Sha256(text);
    Write(Folder(repo) + "/blobs/" + blob, text);
    std::string climb = "../../";
    for (const char c : path) climb += c == '/' ? "../" : "";
    Link(snapshot + "/" + path, climb + "blobs/" + blob);
  }
  return snapshot;
}

void Sample::AddRef(const std::string& repo, const std::string& ref,
                    const std::string& commit) const {
  Write(Folder(repo) + "/refs/" + ref, commit);
}

RepositoryAnswer Sample::Find(const std::string& repo, const std::string& revision) const {
  RepositoryRequest request;
  request.cache = cache();
  request.repo = repo;
  request.revision = revision;
  request.label = repo + "@" + revision;
  request.system = TestSystem();
  request.distrust = [](const std::string& other) {
    return other.starts_with("good/") ? "" : "`" + other + "` is not trusted";
  };
  return FindRepository(request);
}

RepositoryAnswer Sample::FindFolder(const std::string& path) const {
  RepositoryRequest request;
  request.folder = (root_ / path).string();
  request.label = path;
  request.system = TestSystem();
  return FindRepository(request);
}

std::string Commit(char letter) { return std::string(40, letter); }

std::string MetadataFor(const std::map<std::string, std::string>& files, const std::string& extra) {
  std::string digests;
  for (const auto& [path, text] : files) {
    Hasher hasher;
    hasher.Add(text);
    digests +=
        (digests.empty() ? "\"" : ", \"") + path + "\": \"" + ToBase64(hasher.Finish()) + "\"";
  }
  return R"({"name": "relu", "id": "_relu_1", "version": 1, "license": "MIT", "python-depends": [],
             "backend": {"type": "cpu"}, "digest": {"algorithm": "sha256", "files": {)" +
         digests + "}}" + extra + "}";
}

std::map<std::string, std::string> GoodBuild(const std::string& extra_metadata) {
  std::map<std::string, std::string> files = {
      {"__init__.py", "from . import layers\n"},
      {"_relu_1.abi3.so", "not a library\n"},
      {"layers.py", "class ReLU(nn.Module):\n    has_backward: bool = False\n"}};
  files["metadata.json"] = MetadataFor(files, extra_metadata);
  std::map<std::string, std::string> build;
  for (const auto& [path, text] : files)
    build["build/" + std::string(kVariant) + "/" + path] = text;
  return build;
}

System TestSystem() {
  System system;
  system.torch = "2.13";
  system.cxx11_abi = true;
  return system;
}

std::string Code(const RepositoryAnswer& answer) {
  if (answer.found.has_value() == answer.reason.has_value()) return "neither or both";
  return answer.reason ? answer.reason->code : "found";
}

}  // namespace kernelmap
