// A folder whose content is not trusted: nothing outside it is reached, whatever lies in it. Every
// part of a path is opened on its own, below the descriptor of the one before, and never through a
// symbolic link. A file may be a link whose target, worked out from its text, is a regular file
// inside the folder, as the snapshots of a Hugging Face cache link to their blobs; git writes such
// a link, where there can be none, as a file that holds its target, which is read alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kernelmap {

/// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  int Release();

 private:
  int number_;
};

/// Why something was not read.
enum class FolderError {
  kNone,
  kMissing,
  kNotFile,
  kNotFolder,
  kOutside,
  kTooLarge,
  kTooMany,
  kFailed
};
/// "is not there", "is no regular file", …; to follow a name.
std::string_view FolderErrorText(FolderError error);

struct FolderEntry {
  enum class Kind { kFile, kFolder, kLink, kOther };
  std::string name;
  Kind kind = Kind::kOther;
};

class Folder {
 public:
  /// Bounds on what is read.
  static constexpr size_t kMaxPath = 4096;
  static constexpr size_t kMaxEntries = 20000;

  /// The folder itself is the caller's choice: links in its own path are followed.
  static std::optional<Folder> Open(const std::string& path, FolderError* error);

  const std::string& path() const { return path_; }

  /// The folder of a repository in this one, a cache. Nothing leaves it, but for the blobs that all
  /// repositories share: a link `blobs/NAME` may lead to those, see OpenSharedBlob.
  std::optional<Folder> Sub(std::string_view path, FolderError* error) const;

  /// What is in the folder `path` ("" is this one), sorted by name.
  std::optional<std::vector<FolderEntry>> List(std::string_view path, FolderError* error) const;

  /// A regular file, opened for reading, and its size.
  Descriptor OpenFile(std::string_view path, uint64_t* size, FolderError* error) const;

  /// The content of a file of at most `limit` bytes.
  std::optional<std::string> Read(std::string_view path, uint64_t limit, FolderError* error) const;

  /// Whether `path` is a folder, reached without links.
  bool HasFolder(std::string_view path) const;

 private:
  Folder(std::string path, Descriptor root, Descriptor cache = Descriptor())
      : path_(std::move(path)), root_(std::move(root)), cache_(std::move(cache)) {}
  Descriptor Walk(const std::vector<std::string>& parts, FolderError* error) const;
  Descriptor OpenParts(std::vector<std::string> parts, bool may_link, uint64_t* size,
                       FolderError* error) const;

  std::string path_;
  Descriptor root_;
  Descriptor cache_;  // of a repository's folder
};

/// A name as messages show it: what is no printable ASCII becomes `\xNN`, and long ones are cut.
std::string Visible(std::string_view name);

}  // namespace kernelmap
