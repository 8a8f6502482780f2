#include "compiler/store/content.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "compiler/sha256.h"
#include "compiler/store/elf.h"
#include "compiler/store/variant_name.h"

namespace kernelmap {
namespace {

constexpr size_t kMaxFiles = 20000;
constexpr int kMaxFolders = 16;                    // inside one another
constexpr uint64_t kMaxBytes = uint64_t{4} << 30;  // of all files together
constexpr std::string_view kMetadata = "metadata.json";
constexpr std::string_view kSignature = "metadata.json.sigstore";

std::string Join(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

struct HashedFile {
  std::string sha256;  // hexadecimal
  std::string listed;  // as metadata lists it
  bool cut_short = false;
  std::string machine;  // of an ELF file
};

std::optional<HashedFile> HashFile(int descriptor, uint64_t size, bool sha512) {
  Hasher sha256, other(Hasher::Kind::kSha512);
  uint64_t total = 0;
  std::string buffer(1 << 18, '\0');
  while (total <= size) {
    const ssize_t got = read(descriptor, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    const std::string_view bytes(buffer.data(), static_cast<size_t>(got));
    sha256.Add(bytes);
    if (sha512) other.Add(bytes);
    total += bytes.size();
  }
  if (total != size) return std::nullopt;  // it is being written to
  const std::string hash = sha256.Finish();
  const ElfFacts elf = ReadElf(descriptor, size);
  return HashedFile{ToHex(hash), ToBase64(sha512 ? other.Finish() : hash),
                    size == 0 || elf.cut_short, elf.machine};
}

class Reader {
 public:
  Reader(const Folder& folder, const std::string& path, const Metadata& metadata, Reason* reason)
      : folder_(folder), path_(path), metadata_(metadata), reason_(reason) {}

  std::optional<VariantContent> Run() {
    content_.listed = !metadata_.digest_algorithm.empty();
    if (!Walk("", 0)) return std::nullopt;
    std::sort(content_.files.begin(), content_.files.end(),
              [](const RepositoryFile& a, const RepositoryFile& b) { return a.path < b.path; });
    // What is missing comes first: the rest may only be what is left of a download.
    for (const auto& [path, digest] : metadata_.digests) {
      const auto file = std::lower_bound(
          content_.files.begin(), content_.files.end(), path,
          [](const RepositoryFile& a, const std::string& b) { return a.path < b; });
      if (file == content_.files.end() || file->path != path) {
        return Fail("incomplete",
                    "`" + Visible(path) + "` is listed in metadata.json, but not there");
      }
    }
    for (const auto& [path, cut_short] : wrong_) {
      if (cut_short) return Fail("truncated", "`" + Visible(path) + "` ends too early");
    }
    if (!wrong_.empty()) {
      return Fail("tampered",
                  "`" + Visible(wrong_.front().first) + "` is not what metadata.json lists");
    }
    if (!unlisted_.empty()) {
      return Fail("tampered",
                  "`" + Visible(unlisted_.front()) + "` is not listed in metadata.json");
    }
    content_.digest = DigestOf(content_.files);
    if (!FindLibrary() || !IsForMachine()) return std::nullopt;
    return std::move(content_);
  }

 private:
  std::nullopt_t Fail(std::string code, std::string text) {
    *reason_ = Reason{std::move(code), std::move(text), ""};
    return std::nullopt;
  }

  std::nullopt_t Fail(const std::string& path, FolderError error) {
    const std::string text = "`" + Visible(path) + "` " + std::string(FolderErrorText(error));
    if (error == FolderError::kMissing) return Fail("incomplete", text);
    if (error == FolderError::kTooLarge || error == FolderError::kTooMany) {
      return Fail("too_many_files", text);
    }
    return Fail("unsafe_path", text);
  }

  bool Walk(const std::string& below, int depth) {
    FolderError error;
    const auto entries = folder_.List(Join(path_, below), &error);
    if (!entries) return Fail(below.empty() ? path_ : below, error), false;
    if (depth > kMaxFolders) {
      return Fail("too_many_files", "folders lie too deep inside one another"), false;
    }
    for (const FolderEntry& entry : *entries) {
      const std::string name = Join(below, entry.name);
      if (entry.name == "__pycache__" || entry.name.ends_with(".pyc")) continue;
      const bool fine =
          entry.kind == FolderEntry::Kind::kFolder ? Walk(name, depth + 1) : Add(name);
      if (!fine) return false;
    }
    return true;
  }

  bool Add(const std::string& path) {
    if (path == kSignature) return true;
    if (content_.files.size() == kMaxFiles) return Fail(path_, FolderError::kTooMany), false;
    FolderError error;
    uint64_t size = 0;
    const Descriptor file = folder_.OpenFile(Join(path_, path), &size, &error);
    if (!file) return Fail(path, error), false;
    if (size > kMaxBytes - bytes_) return Fail(path, FolderError::kTooLarge), false;
    bytes_ += size;
    const auto hashed = HashFile(file.get(), size, metadata_.digest_algorithm == "sha512");
    if (!hashed) return Fail(path, FolderError::kFailed), false;
    content_.files.push_back({path, size, hashed->sha256});
    machines_[path] = hashed->machine;
    if (path == kMetadata) return true;
    const auto listed = metadata_.digests.find(path);
    if (listed != metadata_.digests.end() && listed->second != hashed->listed) {
      wrong_.emplace_back(path, hashed->cut_short);
    } else if (listed == metadata_.digests.end() && content_.listed) {
      unlisted_.push_back(path);
    } else if (path.ends_with(".so") && hashed->cut_short) {
      wrong_.emplace_back(path, true);
    }
    return true;
  }

  // The one named after the build, else the only one.
  bool FindLibrary() {
    size_t libraries = 0;
    for (const RepositoryFile& file : content_.files) {
      if (!file.path.ends_with(".so")) continue;
      const std::string name = file.path.substr(file.path.rfind('/') + 1);
      content_.library = file.path;
      if (name == metadata_.id + ".abi3.so" || name == metadata_.id + ".so") return true;
      ++libraries;
    }
    if (libraries < 2) return true;
    Fail("bad_metadata",
         "none of its " + std::to_string(libraries) + " shared libraries is named after its `id`");
    return false;
  }

  // The library is for the machine that the build is named after, where both say one.
  bool IsForMachine() {
    std::string name = path_.empty() ? folder_.path() : path_;
    while (name.ends_with('/')) name.pop_back();
    const auto variant = VariantName::Parse(name.substr(name.rfind('/') + 1));
    const std::string& machine = machines_[content_.library];
    if (!variant || variant->arch.empty() || machine.empty() || machine == variant->arch) {
      return true;
    }
    Fail("bad_metadata", "`" + Visible(content_.library) + "` is for " + machine +
                             ", its folder is named after " + variant->arch);
    return false;
  }

  const Folder& folder_;
  const std::string& path_;
  const Metadata& metadata_;
  Reason* reason_;
  VariantContent content_;
  uint64_t bytes_ = 0;
  std::map<std::string, std::string> machines_;      // of files
  std::vector<std::pair<std::string, bool>> wrong_;  // and whether cut short
  std::vector<std::string> unlisted_;
};

}  // namespace

std::optional<VariantContent> ReadContent(const Folder& folder, const std::string& path,
                                          const Metadata& metadata, Reason* reason) {
  return Reader(folder, path, metadata, reason).Run();
}

std::string DigestOf(const std::vector<RepositoryFile>& files) {
  Hasher hasher;
  for (const RepositoryFile& file : files) {
    hasher.Add(file.path);
    hasher.Add({"\0", 1});  // no path holds it
    hasher.Add(file.sha256 + "\n");
  }
  return "sha256-" + ToHex(hasher.Finish());
}

}  // namespace kernelmap
