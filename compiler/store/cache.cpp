#include "compiler/store/cache.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "compiler/version.h"

namespace kernelmap {
namespace {

constexpr std::string_view kPrefixes[] = {"kernels--", "models--"};
constexpr uint64_t kMaxRefBytes = 256;
constexpr size_t kMaxRefs = 10000;
constexpr int kMaxRefDepth = 8;
constexpr size_t kMinCommitDigits = 7;  // of a commit that is not written in full

bool IsHex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string FolderName(std::string_view prefix, std::string repo) {
  repo.replace(repo.find('/'), 1, "--");
  return std::string(prefix) + repo;
}

std::string Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(kSpace) - begin + 1));
}

void AddRefNames(const Folder& folder, const std::string& below, int depth,
                 std::set<std::string>* names) {
  FolderError error;
  const auto entries = folder.List("refs/" + below, &error);
  if (!entries) return;
  for (const FolderEntry& entry : *entries) {
    const std::string name = below.empty() ? entry.name : below + "/" + entry.name;
    if (names->size() >= kMaxRefs) return;
    if (entry.kind == FolderEntry::Kind::kFolder && depth < kMaxRefDepth) {
      AddRefNames(folder, name, depth + 1, names);
    } else if (entry.kind != FolderEntry::Kind::kFolder) {
      names->insert(name);
    }
  }
}

std::vector<std::string> RefNames(const std::vector<Folder>& repository) {
  std::set<std::string> names;
  for (const Folder& folder : repository) AddRefNames(folder, "", 0, &names);
  return {names.begin(), names.end()};
}

// What the ref holds; nothing where it is not there. What cannot be read, or is no commit, is "".
std::optional<std::string> ReadRef(const std::vector<Folder>& repository, const std::string& name) {
  for (const Folder& folder : repository) {
    FolderError error = FolderError::kNone;
    const auto text = folder.Read("refs/" + name, kMaxRefBytes, &error);
    if (!text && (error == FolderError::kMissing || error == FolderError::kNotFolder)) continue;
    const std::string commit = text ? Trim(*text) : "";
    return IsCommit(commit) ? commit : "";
  }
  return std::nullopt;
}

const Folder* WithSnapshot(const std::vector<Folder>& repository, const std::string& commit) {
  for (const Folder& folder : repository) {
    if (folder.HasFolder("snapshots/" + commit)) return &folder;
  }
  return nullptr;
}

// "it has v1, v2, main"; a few of many.
std::string Some(const std::vector<std::string>& names, const std::string& before = "it has ") {
  constexpr size_t kShown = 12;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i > 0 ? ", " : "") + Visible(names[i]);
  }
  if (names.empty()) return "it has none";
  return before + text + (names.size() > kShown ? ", ..." : "");
}

// The 3 of "v3", which other spellings mean too: "v03".
std::optional<int64_t> WholeNumber(const std::string& name) {
  int64_t number = 0;
  const char* end = name.data() + name.size();
  if (!name.starts_with('v')) return std::nullopt;
  const auto [stopped, error] = std::from_chars(name.data() + 1, end, number);
  if (error != std::errc() || stopped != end || name != "v" + std::to_string(number)) {
    return std::nullopt;
  }
  return number;
}

// The commits of snapshots that begin with what looks like the beginning of one; else none.
std::vector<std::string> CommitsFrom(const std::vector<Folder>& repository,
                                     const std::string& beginning) {
  std::set<std::string> commits;
  if (beginning.size() < kMinCommitDigits || !IsHex(beginning)) return {};
  for (const Folder& folder : repository) {
    FolderError error;
    const auto entries = folder.List("snapshots", &error);
    for (const FolderEntry& entry : entries.value_or(std::vector<FolderEntry>{})) {
      if (IsCommit(entry.name) && entry.name.starts_with(beginning)) commits.insert(entry.name);
    }
  }
  return {commits.begin(), commits.end()};
}

// A ref's name keeps to the folder refs/: git allows no other.
bool IsRefName(const std::string& name) {
  std::string_view rest = name;
  while (true) {
    const size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view part = rest.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == rest.size()) return true;
    rest.remove_prefix(slash + 1);
  }
}

}  // namespace

std::vector<std::string> CachedRepositories(const std::string& cache, FolderError* error) {
  const auto root = Folder::Open(cache, error);
  if (!root) return {};
  const auto entries = root->List("", error);
  if (!entries) return {};
  std::set<std::string> repositories;
  for (const FolderEntry& entry : *entries) {
    if (entry.kind != FolderEntry::Kind::kFolder) continue;
    for (const std::string_view prefix : kPrefixes) {
      if (!entry.name.starts_with(prefix)) continue;
      std::string repo = entry.name.substr(prefix.size());
      const size_t dashes = repo.find("--");
      if (dashes == std::string::npos || dashes == 0 || dashes + 2 == repo.size()) continue;
      repo.replace(dashes, 2, "/");
      bool kernel = prefix == kPrefixes[0];
      if (!kernel) {
        FolderError ignored;
        const auto commits = root->List(entry.name + "/snapshots", &ignored);
        for (const FolderEntry& commit : commits.value_or(std::vector<FolderEntry>{})) {
          kernel = kernel || root->HasFolder(entry.name + "/snapshots/" + commit.name + "/build");
        }
      }
      if (kernel) repositories.insert(repo);
    }
  }
  return {repositories.begin(), repositories.end()};
}

std::vector<Folder> OpenRepository(const std::string& cache, const std::string& repo) {
  std::vector<Folder> folders;
  FolderError error;
  const auto root = Folder::Open(cache, &error);
  if (!root || repo.find('/') == std::string::npos) return folders;
  for (const std::string_view prefix : kPrefixes) {
    if (auto folder = root->Sub(FolderName(prefix, repo), &error)) {
      folders.push_back(std::move(*folder));
    }
  }
  return folders;
}

std::vector<CachedRef> CachedRefs(const std::vector<Folder>& repository) {
  std::vector<CachedRef> refs;
  for (const std::string& name : RefNames(repository)) {
    CachedRef ref{name, ReadRef(repository, name).value_or(""), false};
    ref.present = !ref.commit.empty() && WithSnapshot(repository, ref.commit);
    refs.push_back(std::move(ref));
  }
  return refs;
}

std::optional<CachedCommit> FindCommit(const std::vector<Folder>& repository,
                                       const std::string& revision,
                                       const std::vector<Comparison>& comparisons,
                                       const std::string& label, Reason* reason) {
  const auto fail = [&](std::string code, std::string text) {
    *reason = Reason{std::move(code), std::move(text), ""};
    return std::nullopt;
  };
  std::string name = revision, commit;
  if (!comparisons.empty()) {
    const std::vector<std::string> names = RefNames(repository);
    const auto picked = PickVersion(names, comparisons);
    if (!picked) {
      return fail("not_found", "no ref of `" + label + "` in the store satisfies `" + revision +
                                   "`: " + Some(names));
    }
    name = names[*picked];
  } else if (IsCommit(revision)) {
    commit = revision;
  } else if (!IsRefName(revision)) {
    return fail("bad_ref", "`" + Visible(revision) + "` is no name of a ref");
  }
  if (commit.empty()) {
    std::optional<std::string> held = ReadRef(repository, name);
    if (!held && comparisons.empty()) {
      const std::vector<std::string> commits = CommitsFrom(repository, name);
      if (commits.size() > 1) {
        return fail("bad_ref", "several commits of `" + label + "` in the store begin with `" +
                                   name + "`: " + Some(commits, ""));
      }
      if (commits.size() == 1) held = commits[0];
    }
    if (!held && comparisons.empty()) {
      const std::vector<std::string> names = RefNames(repository);
      const std::optional<int64_t> number = WholeNumber(name);
      const auto picked = number ? PickNumber(names, *number) : std::nullopt;
      if (!picked) {
        return fail("not_found", "`" + label + "` is in the store, but not its ref `" +
                                     Visible(name) + "`: " + Some(names));
      }
      name = names[*picked];
      held = ReadRef(repository, name);
    }
    commit = held.value_or("");
    if (commit.empty()) {
      return fail("bad_ref", "the ref `" + Visible(name) + "` of `" + label + "` holds no commit");
    }
  }
  const Folder* folder = WithSnapshot(repository, commit);
  if (!folder) {
    return fail("not_found", "`" + label + "` is in the store, but not its commit " + commit +
                                 (commit == name ? "" : ", which `" + Visible(name) + "` means"));
  }
  return CachedCommit{commit, folder};
}

std::optional<CachedCommit> FindSnapshot(const std::vector<Folder>& repository,
                                         const std::string& commit) {
  const Folder* folder = WithSnapshot(repository, commit);
  if (!folder) return std::nullopt;
  return CachedCommit{commit, folder};
}

std::optional<size_t> PickRef(const std::vector<std::string>& names, const std::string& revision,
                              const std::vector<Comparison>& comparisons) {
  if (!comparisons.empty()) return PickVersion(names, comparisons);
  const auto same = std::find(names.begin(), names.end(), revision);
  if (same != names.end()) return static_cast<size_t>(same - names.begin());
  const std::optional<int64_t> number = WholeNumber(revision);
  return number ? PickNumber(names, *number) : std::nullopt;
}

bool IsCommit(std::string_view text) { return text.size() == 40 && IsHex(text); }

}  // namespace kernelmap
