// A Hugging Face cache made for one test.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "compiler/store/repository.h"

namespace kernelmap {

/// A folder for one test; it goes with the object.
class Sample {
 public:
  Sample();
  ~Sample();
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;

  /// Its absolute path, and one below it.
  std::filesystem::path operator/(const std::string& path) const { return root_ / path; }
  std::string cache() const { return root_.string(); }

  void Write(const std::string& path, const std::string& text) const;
  void Link(const std::string& path, const std::string& target) const;

  /// Adds a commit to kernels--ORG--NAME as the Python library lays it out: blobs, and links to
  /// them. Returns the folder of the snapshot.
  std::string AddCommit(const std::string& repo, const std::string& commit,
                        const std::map<std::string, std::string>& files) const;
  void AddRef(const std::string& repo, const std::string& ref, const std::string& commit) const;

  RepositoryAnswer Find(const std::string& repo, const std::string& revision) const;
  RepositoryAnswer FindFolder(const std::string& path) const;

 private:
  std::filesystem::path root_;
};

/// Forty times the letter.
std::string Commit(char letter);

/// The files of a good build for System{} with torch 2.13, below "build/VARIANT/": metadata.json
/// with their digests, __init__.py, layers.py and a shared library that is none.
constexpr const char* kVariant = "torch213-cxx11-cpu-x86_64-linux";
std::map<std::string, std::string> GoodBuild(const std::string& extra_metadata = "");

/// A metadata.json for files, without the folder.
std::string MetadataFor(const std::map<std::string, std::string>& files,
                        const std::string& extra = "");

System TestSystem();

/// The code of the answer's reason; "found" where there is none.
std::string Code(const RepositoryAnswer& answer);

}  // namespace kernelmap
