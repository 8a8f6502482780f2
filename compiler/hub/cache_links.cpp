// Snapshots and refs of a cache: the links and names by which blobs are found. Each appears whole.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <map>
#include <string_view>

#include "compiler/hub/cache_folder.h"
#include "compiler/hub/cache_writer.h"
#include "compiler/hub/sweep.h"
#include "compiler/store/cache.h"
#include "compiler/write_all.h"

namespace kernelmap {
namespace {

// What the link to a file's blob says, from its place in a snapshot.
std::string TargetOf(const HubFile& file) {
  std::string target = "../../";
  for (const char c : file.path) target += c == '/' ? "../" : "";
  return target + "blobs/" + file.digest;
}

// A commit becomes part of a path, wherever it is from.
bool CheckCommit(const std::string& commit, Reason* reason) {
  if (IsCommit(commit)) return true;
  *reason = {"bad_ref", "`" + Visible(commit) + "` is no commit", ""};
  return false;
}

// A folder that nothing shall be left of unless it got its place.
struct Unfinished {
  const Descriptor& parent;
  const std::string& name;
  const bool* done;
  ~Unfinished() {
    if (!*done) RemoveFolder(parent, name);
  }
};

}  // namespace

bool CacheWriter::Link(const std::string& commit, const std::vector<HubFile>& files,
                       Reason* reason) const {
  if (!CheckCommit(commit, reason)) return false;
  const Descriptor snapshot = MakeFolder(repo_, "snapshots/" + commit, reason);
  if (!snapshot) return false;
  std::map<std::string, std::vector<HubFile>> builds;  // "" of what is in none
  for (const HubFile& file : files) {
    const size_t slash = file.path.starts_with("build/") ? file.path.find('/', 6) : file.path.npos;
    builds[slash == file.path.npos ? "" : file.path.substr(0, slash)].push_back(file);
  }
  for (const auto& [build, members] : builds) {
    bool done = false;
    if (!build.empty() && !LinkNewBuild(snapshot, build, members, &done, reason)) return false;
    for (const HubFile& file : members) {
      if (!done && !LinkOne(snapshot, file, reason)) return false;
    }
  }
  fsync(snapshot.get());
  return true;
}

bool CacheWriter::LinkNewBuild(const Descriptor& snapshot, const std::string& build,
                               const std::vector<HubFile>& files, bool* done,
                               Reason* reason) const {
  struct stat status {};
  if (fstatat(snapshot.get(), build.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return true;
  const Descriptor parent = MakeFolder(snapshot, "build", reason);
  // Beside the blobs: among the builds it would be one.
  const std::string name = NewBuildName();
  const Descriptor folder = parent ? MakeFolder(blobs_, name, reason) : Descriptor();
  if (!folder) return false;
  Hold(folder);
  const Unfinished unfinished{blobs_, name, done};
  for (const HubFile& file : files) {
    const std::string path = file.path.substr(build.size() + 1);
    const size_t slash = path.rfind('/');
    const Descriptor below =
        MakeFolder(folder, slash == path.npos ? "" : path.substr(0, slash), reason);
    if (!below) return false;
    if (symlinkat(TargetOf(file).c_str(), below.get(), LeafOf(path).c_str()) != 0) {
      return *reason = CannotWrite(file.path), false;
    }
    fsync(below.get());
  }
  fsync(folder.get());
  *done = renameat(blobs_.get(), name.c_str(), parent.get(), LeafOf(build).c_str()) == 0;
  if (*done) fsync(parent.get());  // else another process was faster
  return true;
}

bool CacheWriter::LinkOne(const Descriptor& snapshot, const HubFile& file, Reason* reason) const {
  const size_t slash = file.path.rfind('/');
  const Descriptor folder =
      MakeFolder(snapshot, slash == file.path.npos ? "" : file.path.substr(0, slash), reason);
  if (!folder) return false;
  const std::string leaf = LeafOf(file.path), target = TargetOf(file);
  char now[PATH_MAX];
  const ssize_t length = readlinkat(folder.get(), leaf.c_str(), now, sizeof now);
  if (length >= 0 && target == std::string_view(now, static_cast<size_t>(length))) return true;
  // Beside the blobs: a stranger among a build's files would make the build another.
  for (bool again = true;; again = false) {
    const std::string name = NewLinkName(file.digest);
    if (symlinkat(target.c_str(), blobs_.get(), name.c_str()) == 0 &&
        renameat(blobs_.get(), name.c_str(), folder.get(), leaf.c_str()) == 0) {
      break;
    }
    // Of a process that was halted for long another one may have swept it.
    if (again && errno == ENOENT) continue;
    *reason = CannotWrite(file.path);
    unlinkat(blobs_.get(), name.c_str(), 0);
    return false;
  }
  fsync(folder.get());
  return true;
}

bool CacheWriter::WriteRef(const std::string& name, const std::string& commit,
                           Reason* reason) const {
  if (!CheckCommit(commit, reason)) return false;
  const std::string path = "refs/" + name;
  const size_t slash = path.rfind('/');
  const Descriptor folder = MakeFolder(repo_, path.substr(0, slash), reason);
  if (!folder) return false;
  // Beside the blobs too: in refs/ it would be a ref.
  const std::string temporary = NewRefName();
  const Descriptor file(openat(blobs_.get(), temporary.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (file) Hold(file);
  const bool written =
      file && WriteAll(file.get(), commit) && fsync(file.get()) == 0 &&
      renameat(blobs_.get(), temporary.c_str(), folder.get(), path.substr(slash + 1).c_str()) == 0;
  if (!written) {
    *reason = CannotWrite(path);
    if (file) unlinkat(blobs_.get(), temporary.c_str(), 0);
    return false;
  }
  fsync(folder.get());
  return true;
}

}  // namespace kernelmap
