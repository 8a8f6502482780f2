#include "compiler/hub/fetch.h"

#include <map>
#include <set>
#include <utility>

#include "compiler/hub/find_ref.h"
#include "compiler/hub/snapshot.h"
#include "compiler/plan_json.h"
#include "compiler/store/archs.h"
#include "compiler/store/cache.h"
#include "compiler/store/redirect.h"
#include "compiler/store/variant_name.h"

namespace kernelmap {

// What all fetches of one run share.
struct FetchState {
  FetchState(const HubSettings& wanted, bool all, ShowProgress show_progress)
      : settings(wanted),
        all_builds(all),
        show(std::move(show_progress)),
        http(settings, nullptr) {}

  const HubSettings settings;
  const bool all_builds;
  const ShowProgress show;
  Progress progress;
  HttpClient http;
  KnownRefs refs;
  std::map<std::string, std::vector<HubFile>> trees;  // of "org/name@commit"
};

namespace {

using Status = FetchedRepository::Status;

constexpr size_t kMaxRedirects = 8;
constexpr size_t kMaxNeeds = 32;  // of all kernels that one needs
constexpr uint64_t kMaxSmallBytes = 4u << 20;
constexpr uint64_t kMaxBuildBytes = uint64_t{4} << 30;
constexpr size_t kMaxBuildFiles = 20000;
constexpr const char* kStatusFile = "kernel-status.toml";

// One fetch: of a kernel, through redirects, and of the kernels that it needs.
class Search {
 public:
  Search(FetchState* state, const FetchRequest& request) : state_(state), request_(request) {}

  std::vector<FetchedRepository> Run() {
    const RepositoryRequest& what = request_.what;
    if (One(what.repo, what.revision, what.comparisons, "", 0)) CheckInStore();
    return std::move(items_);
  }

 private:
  bool Fail(size_t place, Reason reason) {
    items_[place].status = Status::kFailed;
    items_[place].reason = std::move(reason);
    return false;
  }

  bool Fail(size_t place, std::string code, std::string text) {
    return Fail(place, Reason{std::move(code), std::move(text), ""});
  }

  // The commit that a lock says, of the repository that it is about.
  std::string LockedCommit(const std::string& repo) const {
    return repo == request_.what.locked_repo ? request_.what.locked_commit : "";
  }

  bool One(const std::string& repo, const std::string& revision,
           const std::vector<Comparison>& comparisons, const std::string& needed_by,
           size_t redirects) {
    const size_t place = items_.size();
    FetchedRepository& item = items_.emplace_back();
    item.repo = repo;
    item.revision = revision;
    item.needed_by = needed_by;
    if (FindLocally(place, comparisons)) return true;
    if (state_->settings.offline) {
      return Fail(place, "offline",
                  items_[place].reason
                      ? items_[place].reason->text + " [" + items_[place].reason->code +
                            "], and the environment turns the Hub off"
                      : "`" + Visible(repo + "@" + revision) +
                            "` is not in the cache, and the environment turns the Hub off");
    }
    items_[place].reason.reset();
    Reason reason;
    const std::optional<HubRef> ref =
        FindHubRef(&state_->http, state_->settings, &state_->refs,
                   {repo, revision, comparisons, LockedCommit(repo)}, &reason);
    if (!ref) return Fail(place, std::move(reason));
    items_[place].commit = ref->commit;
    const std::vector<HubFile>* tree = Tree(repo, ref->commit, &reason);
    if (!tree) return Fail(place, std::move(reason));
    const HubFile* status = FindFile(*tree, kStatusFile);
    const bool fine = status ? Redirected(place, *status, redirects) : Builds(place, *tree);
    return fine && WriteRef(place, ref->name);
  }

  // What is there already needs no request where the commit is known, or none may be made.
  bool FindLocally(size_t place, const std::vector<Comparison>& comparisons) {
    if (state_->all_builds) return false;
    FetchedRepository& item = items_[place];
    const std::string locked = LockedCommit(item.repo);
    const std::string known = locked.empty() && IsCommit(item.revision) ? item.revision : locked;
    if (known.empty() && !state_->settings.offline) return false;
    RepositoryRequest what = request_.what;
    what.repo = item.repo;
    what.revision = item.revision;
    what.comparisons = comparisons;
    const RepositoryAnswer answer = FindRepository(what);
    Reason reason;
    const std::vector<Folder> folders = OpenRepository(what.cache, what.repo);
    const auto commit = locked.empty()
                            ? FindCommit(folders, what.revision, comparisons, what.repo, &reason)
                            : FindSnapshot(folders, locked);
    const bool python = answer.reason && answer.reason->code == "python_only";
    if (!commit || (!answer.found && !python) || (!known.empty() && commit->commit != known)) {
      if (commit) item.reason = answer.reason;  // it is there, but broken
      return false;
    }
    // A build that lists its files has them all. Of another one that Python was fetching some may
    // be missing.
    const std::string& repo = answer.found ? answer.found->repo : item.repo;
    if (!answer.listed && !state_->settings.offline && HasPartials(what.cache, repo)) return false;
    item.commit = commit->commit;
    item.status = Status::kPresent;
    if (!answer.found) return item.reason = answer.reason, true;
    if (answer.found->repo != item.repo) {
      item.redirect = answer.found->repo + "@" + answer.found->commit;
      return true;
    }
    item.builds = {answer.found->variant};
    for (const RepositoryFile& file : answer.found->files) {
      item.files.push_back({"build/" + answer.found->variant + "/" + file.path, file.size, false});
    }
    return true;
  }

  const std::vector<HubFile>* Tree(const std::string& repo, const std::string& commit,
                                   Reason* reason) {
    const std::string key = repo + "@" + commit;
    const auto there = state_->trees.find(key);
    if (there != state_->trees.end()) return &there->second;
    auto tree = HubTree(&state_->http, state_->settings, repo, commit, reason);
    return tree ? &(state_->trees[key] = std::move(*tree)) : nullptr;
  }

  std::string Distrust(const std::string& repo) const {
    return request_.what.distrust ? request_.what.distrust(repo)
                                  : "nothing says that it is trusted";
  }

  bool Redirected(size_t place, const HubFile& status, size_t redirects) {
    Reason reason;
    auto text = ReadBlob(place, status, &reason);
    if (!text) return Fail(place, std::move(reason));
    std::optional<Reason> bad;
    const auto redirect = ParseRedirect(std::move(*text), &bad);
    if (!redirect) return Fail(place, std::move(*bad));
    const std::string from = items_[place].repo;
    items_[place].redirect = redirect->repo + "@" + redirect->revision;
    const std::string leads = "`" + from + "` leads to `" + Visible(items_[place].redirect) + "`";
    if (!hops_.insert(from + "@" + items_[place].commit).second || redirects == kMaxRedirects) {
      return Fail(place, "bad_redirect", leads + ", and so on and on");
    }
    if (const std::string distrust = Distrust(redirect->repo); !distrust.empty()) {
      return Fail(place, "not_trusted", leads + ": " + distrust);
    }
    if (!Files(place, {status})) return false;
    const size_t next = items_.size();
    if (One(redirect->repo, redirect->revision, {}, from, redirects + 1)) return true;
    return Fail(place, items_[next].reason->code, leads + ": " + items_[next].reason->text);
  }

  bool Builds(size_t place, const std::vector<HubFile>& tree) {
    const std::string repo = items_[place].repo;
    const System& system = request_.what.system;
    std::vector<std::string> builds = BuildNames(tree);
    const size_t others = builds.size();
    const std::string none =
        "`" + repo + "@" + items_[place].revision + "` has no build for " + SystemText(system);
    if (!state_->all_builds) {
      const VariantChoice choice = ChooseVariant(builds, system);
      if (!choice.chosen) {
        return Fail(place, "no_variant",
                    none + (others > 0 ? ", but " + std::to_string(others) + " for others" : ""));
      }
      builds = {*choice.chosen};
    }
    std::vector<HubFile> files;
    for (const std::string& build : builds) {
      if (!Needs(place, tree, build)) return false;
      const std::string prefix = "build/" + build + "/";
      for (const HubFile& file : tree) {
        if (file.path.starts_with(prefix) && !IsByteCode(file.path)) files.push_back(file);
      }
    }
    items_[place].builds = std::move(builds);
    return Files(place, std::move(files));
  }

  // Reads the metadata of a build first: what does not run on the target is not fetched, and what
  // the build needs is.
  bool Needs(size_t place, const std::vector<HubFile>& tree, const std::string& build) {
    const HubFile* file = FindFile(tree, "build/" + build + "/metadata.json");
    if (!file) return true;  // the store says so
    Reason reason;
    const auto text = ReadBlob(place, *file, &reason);
    if (!text) return Fail(place, std::move(reason));
    std::string problem;
    const auto metadata = ReadMetadata(*text, &problem);
    if (!metadata) return true;  // likewise
    const std::string repo = items_[place].repo;
    const std::string backend = ReadBackend(request_.what.system.backend).name;
    if (!state_->all_builds && metadata->backend == backend &&
        !ArchsHold(backend, metadata->archs, request_.what.capability)) {
      return Fail(place, "no_variant",
                  "`" + build + "` of `" + repo + "` is not built for " +
                      CapabilityText(request_.what.capability));
    }
    if (metadata->kernel_depends.empty()) return true;
    const std::string self = repo + "@" + items_[place].commit + "/" + build;
    if (!needed_by_.insert(self).second) {
      return Fail(place, "dependency", "`" + repo + "` depends on itself");
    }
    for (const KernelDependency& need : metadata->kernel_depends) {
      const std::string label = Visible(need.repo + "@" + need.revision);
      const std::string depends = "`" + repo + "` depends on `" + label + "`: ";
      if (met_.size() > kMaxNeeds) {
        return Fail(place, "dependency", "`" + repo + "` depends on too many kernels");
      }
      if (const std::string distrust = Distrust(need.repo); !distrust.empty()) {
        return Fail(place, "not_trusted", depends + distrust);
      }
      if (!IsRepositoryName(need.repo)) {
        return Fail(place, "bad_metadata", depends + "it is no repository");
      }
      if (!met_.insert(need.repo + "@" + need.revision).second) continue;
      const size_t next = items_.size();
      if (!One(need.repo, need.revision, {}, repo, 0)) {
        const Reason why = *items_[next].reason;
        return Fail(place, "dependency",
                    depends + why.text + (why.code == "dependency" ? "" : " [" + why.code + "]"));
      }
    }
    needed_by_.erase(self);
    return true;
  }

  // "org/name", as the references of configs have it.
  static bool IsRepositoryName(const std::string& text) {
    Diagnostics diagnostics(std::make_shared<Source>("metadata.json", text));
    const auto ref = ParseKernelRef(SubText::OfSource(*diagnostics.source()), &diagnostics);
    return ref && ref->kind == KernelRef::Kind::kHub && ref->repo == text;
  }

  // The content of a small file, whose blob is downloaded but not linked.
  std::optional<std::string> ReadBlob(size_t place, const HubFile& file, Reason* reason) {
    FetchedRepository& item = items_[place];
    if (file.size > kMaxSmallBytes) {
      *reason = {"too_many_files",
                 "`" + Visible(file.path) + "` of `" + item.repo + "` is too large", ""};
      return std::nullopt;
    }
    const std::string& cache = request_.what.cache;
    FolderError error = FolderError::kNone;
    if (PresentFiles(cache, item.repo, item.commit, {file})[0]) {
      for (const Folder& folder : OpenRepository(cache, item.repo)) {
        auto text =
            folder.Read("snapshots/" + item.commit + "/" + file.path, kMaxSmallBytes, &error);
        if (text) return text;
      }
    }
    const auto writer = CacheWriter::Open(cache, item.repo, reason);
    if (!writer || !Download(*writer, item, {file}, reason)) return std::nullopt;
    auto text = writer->ReadBlob(file, kMaxSmallBytes);
    if (text) return text;
    *reason = {"cannot_write", "`" + Visible(file.path) + "` of the cache cannot be read back", ""};
    return std::nullopt;
  }

  bool Download(const CacheWriter& writer, const FetchedRepository& item,
                const std::vector<HubFile>& files, Reason* reason) {
    Downloads downloads = DownloadBlobs(state_->settings, writer, item.repo, item.commit, files,
                                        &state_->progress, state_->show);
    for (size_t i = 0; i < files.size(); ++i) {
      if (downloads.fetched[i]) fetched_.insert(item.repo + "/" + files[i].digest);
    }
    if (downloads.reason) *reason = std::move(*downloads.reason);
    return !downloads.reason;
  }

  // Downloads what is not there, and puts it into the snapshot.
  bool Files(size_t place, std::vector<HubFile> files) {
    FetchedRepository& item = items_[place];
    uint64_t bytes = 0;
    for (const HubFile& file : files) {
      if (file.size > kMaxBuildBytes || bytes > kMaxBuildBytes || files.size() > kMaxBuildFiles) {
        return Fail(place, "too_many_files", "`" + item.repo + "` is larger than any kernel");
      }
      bytes = state_->all_builds ? 0 : bytes + file.size;
    }
    const std::string& cache = request_.what.cache;
    const std::vector<bool> present = PresentFiles(cache, item.repo, item.commit, files);
    std::vector<HubFile> missing;
    for (size_t i = 0; i < files.size(); ++i) {
      if (!present[i]) missing.push_back(files[i]);
    }
    if (!missing.empty()) {
      Reason reason;
      const auto writer = CacheWriter::Open(cache, item.repo, &reason);
      if (!writer || !Download(*writer, item, missing, &reason) ||
          !writer->Link(item.commit, missing, &reason)) {
        return Fail(place, std::move(reason));
      }
    }
    item.status = Status::kPresent;
    for (const HubFile& file : files) {
      const bool now =
          fetched_.erase(item.repo + "/" + file.digest) > 0;  // of equal ones the first
      if (now) item.status = Status::kFetched;
      item.files.push_back({file.path, file.size, now});
    }
    return true;
  }

  bool WriteRef(size_t place, const std::string& name) {
    const FetchedRepository& item = items_[place];
    if (name.empty() || name == item.commit) return true;
    for (const CachedRef& ref : CachedRefs(OpenRepository(request_.what.cache, item.repo))) {
      if (ref.name == name && ref.commit == item.commit) return true;
    }
    Reason reason;
    const auto writer = CacheWriter::Open(request_.what.cache, item.repo, &reason);
    if (!writer || !writer->WriteRef(name, item.commit, &reason)) {
      return Fail(place, std::move(reason));
    }
    return true;
  }

  // What the store makes of it all.
  void CheckInStore() {
    const RepositoryAnswer answer = FindRepository(request_.what);
    size_t last = 0;  // where the redirects end
    while (!items_[last].redirect.empty() && last + 1 < items_.size()) ++last;
    if (!answer.found) {
      if (!items_[0].reason) items_[0].reason = answer.reason;
    } else if (items_[last].redirect.empty() && answer.found->commit != items_[last].commit) {
      Fail(0, "bad_ref",
           "the cache has another ref that `" + Visible(request_.what.label) + "` means, commit " +
               answer.found->commit + ", which the Hub no longer has");
    }
  }

  FetchState* state_;
  const FetchRequest& request_;
  std::vector<FetchedRepository> items_;
  std::set<std::string> hops_;       // redirects that were followed: "org/name@commit"
  std::set<std::string> needed_by_;  // builds whose needs are being fetched
  std::set<std::string> fetched_;    // blobs that came from the server: "org/name/digest"
  std::set<std::string> met_;        // kernels that were needed: "org/name@revision"
};

}  // namespace

Fetcher::Fetcher(const HubSettings& settings, bool all_builds, ShowProgress show)
    : state_(std::make_shared<FetchState>(settings, all_builds, std::move(show))) {}

std::vector<FetchedRepository> Fetcher::Fetch(const FetchRequest& request) {
  return Search(state_.get(), request).Run();
}

}  // namespace kernelmap
