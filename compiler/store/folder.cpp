#include "compiler/store/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "compiler/sha256.h"
#include "compiler/store/shared_blob.h"

namespace kernelmap {
namespace {

// A path's parts with `.` and `..` worked out. Nothing where it is absolute, leaves the folder or
// is too long.
std::optional<std::vector<std::string>> Parts(std::string_view path,
                                              std::vector<std::string> from = {}) {
  if (path.starts_with('/') || path.size() > Folder::kMaxPath ||
      path.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    if (part == "..") {
      if (from.empty()) return std::nullopt;
      from.pop_back();
    } else if (!part.empty() && part != ".") {
      from.emplace_back(part);
    }
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return from;
}

FolderError FromErrno() {
  switch (errno) {
    case ENOENT:
      return FolderError::kMissing;
    case ELOOP:
    case ENOTDIR:
      return FolderError::kNotFolder;
    default:
      return FolderError::kFailed;
  }
}

// A file that stands for a link: its whole text is a path that climbs, and ends in a blob's name.
bool IsWrittenLink(std::string_view text) {
  const size_t blobs = text.find("/blobs/");
  if (!text.starts_with("../") || blobs == std::string_view::npos) return false;
  const std::string_view name = text.substr(blobs + 7);
  std::string_view climb = text.substr(0, blobs + 1);
  while (climb.starts_with("../")) climb.remove_prefix(3);
  return climb.empty() && (name.size() == 40 || name.size() == 64) &&
         name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

constexpr size_t kLongestWrittenLink = 256;

std::string ReadAll(int descriptor, uint64_t limit) {
  std::string text;
  char buffer[1 << 16];
  while (text.size() < limit) {
    const ssize_t got =
        read(descriptor, buffer, std::min<uint64_t>(sizeof buffer, limit - text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

FolderEntry::Kind KindOf(mode_t mode) {
  if (S_ISREG(mode)) return FolderEntry::Kind::kFile;
  if (S_ISDIR(mode)) return FolderEntry::Kind::kFolder;
  return S_ISLNK(mode) ? FolderEntry::Kind::kLink : FolderEntry::Kind::kOther;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    if (number_ >= 0) close(number_);
    number_ = other.Release();
  }
  return *this;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

int Descriptor::Release() { return std::exchange(number_, -1); }

std::string_view FolderErrorText(FolderError error) {
  switch (error) {
    case FolderError::kNone:
      break;
    case FolderError::kMissing:
      return "is not there";
    case FolderError::kNotFile:
      return "is no regular file";
    case FolderError::kNotFolder:
      return "is no folder";
    case FolderError::kOutside:
      return "leads outside the repository";
    case FolderError::kTooLarge:
      return "is too large";
    case FolderError::kTooMany:
      return "holds too many files";
    case FolderError::kFailed:
      return "cannot be read";
  }
  return "";
}

std::optional<Folder> Folder::Open(const std::string& path, FolderError* error) {
  Descriptor root(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) {
    *error = FromErrno();
    return std::nullopt;
  }
  return Folder(path, std::move(root));
}

std::optional<Folder> Folder::Sub(std::string_view path, FolderError* error) const {
  const auto parts = Parts(path);
  if (!parts) return *error = FolderError::kOutside, std::nullopt;
  Descriptor at = Walk(*parts, error);
  if (!at) return std::nullopt;
  Descriptor cache(openat(root_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return Folder(path_ + "/" + std::string(path), std::move(at), std::move(cache));
}

Descriptor Folder::Walk(const std::vector<std::string>& parts, FolderError* error) const {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Descriptor at(openat(root_.get(), ".", kFlags));
  for (const std::string& part : parts) {
    if (!at) break;
    at = Descriptor(openat(at.get(), part.c_str(), kFlags));
  }
  if (!at) *error = FromErrno();
  return at;
}

std::optional<std::vector<FolderEntry>> Folder::List(std::string_view path,
                                                     FolderError* error) const {
  const auto parts = Parts(path);
  if (!parts) return *error = FolderError::kOutside, std::nullopt;
  Descriptor at = Walk(*parts, error);
  if (!at) return std::nullopt;
  DIR* stream = fdopendir(at.get());
  if (!stream) return *error = FromErrno(), std::nullopt;
  at.Release();  // the stream's now
  std::vector<FolderEntry> entries;
  *error = FolderError::kNone;
  while (const dirent* entry = readdir(stream)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (entries.size() == kMaxEntries) {
      *error = FolderError::kTooMany;
      break;
    }
    struct stat status {};
    if (fstatat(dirfd(stream), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    entries.push_back({name, KindOf(status.st_mode)});
  }
  closedir(stream);
  if (*error != FolderError::kNone) return std::nullopt;
  std::sort(entries.begin(), entries.end(),
            [](const FolderEntry& a, const FolderEntry& b) { return a.name < b.name; });
  return entries;
}

Descriptor Folder::OpenParts(std::vector<std::string> parts, bool may_link, uint64_t* size,
                             FolderError* error) const {
  if (parts.empty()) return *error = FolderError::kNotFile, Descriptor();
  const std::string name = parts.back();
  parts.pop_back();
  const Descriptor folder = Walk(parts, error);
  if (!folder) return Descriptor();
  const auto follow = [&](std::string_view target) {
    const auto to = Parts(target, parts);
    if (!to) return *error = FolderError::kOutside, Descriptor();
    return OpenParts(*to, false, size, error);
  };
  // Opening a pipe or a device could wait or do something, so it is not even tried.
  struct stat status {};
  if (fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return *error = FromErrno(), Descriptor();
  }
  if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) {
    return *error = FolderError::kNotFile, Descriptor();
  }
  Descriptor file(openat(folder.get(), name.c_str(),
                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file && errno == ELOOP) {
    char target[PATH_MAX];
    const ssize_t length = readlinkat(folder.get(), name.c_str(), target, sizeof target);
    const std::string_view link(target, length < 0 ? 0 : static_cast<size_t>(length));
    if (parts == std::vector<std::string>{"blobs"}) file = OpenSharedBlob(cache_, link);
    if (!file && (!may_link || length < 0)) return *error = FolderError::kOutside, Descriptor();
    if (!file) return follow(link);
  }
  if (!file) return *error = FromErrno(), Descriptor();
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return *error = FolderError::kNotFile, Descriptor();
  }
  *size = static_cast<uint64_t>(status.st_size);
  if (may_link && *size <= kLongestWrittenLink) {
    const std::string text = ReadAll(file.get(), *size);
    if (IsWrittenLink(text)) return follow(text);
    lseek(file.get(), 0, SEEK_SET);
  }
  *error = FolderError::kNone;
  return file;
}

Descriptor Folder::OpenFile(std::string_view path, uint64_t* size, FolderError* error) const {
  const auto parts = Parts(path);
  if (!parts) return *error = FolderError::kOutside, Descriptor();
  return OpenParts(*parts, true, size, error);
}

std::optional<std::string> Folder::Read(std::string_view path, uint64_t limit,
                                        FolderError* error) const {
  uint64_t size = 0;
  const Descriptor file = OpenFile(path, &size, error);
  if (!file) return std::nullopt;
  if (size > limit) return *error = FolderError::kTooLarge, std::nullopt;
  std::string text = ReadAll(file.get(), limit + 1);
  if (text.size() > limit) return *error = FolderError::kTooLarge, std::nullopt;
  return text;
}

bool Folder::HasFolder(std::string_view path) const {
  FolderError error;
  const auto parts = Parts(path);
  return parts && Walk(*parts, &error);
}

std::string Visible(std::string_view name) {
  constexpr size_t kLongest = 200;
  std::string text;
  for (const char c : name) {
    if (text.size() >= kLongest) return text + "...";
    if (static_cast<unsigned char>(c - 0x20) >= 0x5F || c == '`') {
      text += "\\x" + ToHex({&c, 1});
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace kernelmap
