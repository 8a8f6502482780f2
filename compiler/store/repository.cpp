#include "compiler/store/repository.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "compiler/plan_json.h"
#include "compiler/store/archs.h"
#include "compiler/store/build.h"
#include "compiler/store/cache.h"
#include "compiler/store/cache_path.h"
#include "compiler/store/folder.h"
#include "compiler/store/redirect.h"
#include "compiler/store/variant_name.h"

namespace kernelmap {
namespace {

constexpr size_t kMaxRedirects = 8;
constexpr int kMaxDependencies = 32;  // of all kernels that one needs
constexpr size_t kMaxShown = 40;      // variants in a trace

// One search: through redirects to a variant, and for the kernels that it needs, which are found
// by searches of their own.
class Finder {
 public:
  Finder(RepositoryRequest request, int* searches, std::set<std::string>* needed_by)
      : request_(std::move(request)), searches_(searches), needed_by_(needed_by) {}

  RepositoryAnswer Run() {
    const bool fine = request_.folder.empty() ? FindInCache() : FindInFolder();
    if (fine && ReadVariant()) answer_.found = std::move(found_);
    return std::move(answer_);
  }

 private:
  void Pass(std::string step, std::string text) {
    answer_.steps.push_back({std::move(step), true, std::move(text)});
  }

  bool Fail(std::string step, std::string code, std::string text) {
    answer_.steps.push_back({std::move(step), false, text});
    answer_.reason = Reason{std::move(code), std::move(text), ""};
    return false;
  }

  bool FindInCache() {
    std::set<std::pair<std::string, std::string>> seen;
    std::string repo = request_.repo, revision = request_.revision;
    std::vector<Comparison> comparisons = request_.comparisons;
    if (request_.cache.empty()) {
      return Fail("present", "not_found", std::string(kNoHome) + "; " + kNoHomeHelp);
    }
    for (size_t redirects = 0;; ++redirects) {
      const std::string label = label_ = repo + "@" + revision;
      repository_ = OpenRepository(request_.cache, repo);
      if (repository_.empty()) {
        return Fail("present", "not_found",
                    "`" + label + "` is not in the store" + request_.fetch_hint);
      }
      Pass("present", "`" + repo + "` is in the store");
      Reason reason;
      auto commit = repo == request_.locked_repo ? FindSnapshot(repository_, request_.locked_commit)
                                                 : std::nullopt;
      if (!commit) commit = FindCommit(repository_, revision, comparisons, repo, &reason);
      if (!commit) {
        return Fail("revision", reason.code,
                    reason.text + (reason.code == "not_found" ? request_.fetch_hint : ""));
      }
      Pass("revision", "`" + label + "` is commit " + commit->commit);
      folder_ = commit->folder;
      found_.repo = repo;
      found_.commit = commit->commit;
      const std::string snapshot = "snapshots/" + commit->commit;
      std::optional<Reason> bad;
      const auto redirect = ReadRedirect(*folder_, snapshot, &bad);
      if (bad) return Fail("redirect", bad->code, bad->text);
      if (!redirect) return ChooseIn(snapshot + "/build", "`" + label + "`");
      if (!seen.insert({repo, commit->commit}).second || redirects == kMaxRedirects) {
        return Fail("redirect", "bad_redirect",
                    "`" + request_.label + "` leads on and on from one repository to another");
      }
      const std::string to = "`" + redirect->repo + "@" + redirect->revision + "`";
      if (std::string distrust = Distrust(redirect->repo); !distrust.empty()) {
        return Fail("redirect", "not_trusted", "`" + label + "` leads to " + to + ": " + distrust);
      }
      Pass("redirect", "`" + label + "` leads to " + to + ", which is trusted");
      repo = redirect->repo;
      revision = redirect->revision;
      comparisons.clear();
    }
  }

  std::string Distrust(const std::string& repo) const {
    return request_.distrust ? request_.distrust(repo) : "nothing says that it is trusted";
  }

  bool FindInFolder() {
    label_ = request_.label;
    FolderError error;
    auto folder = Folder::Open(request_.folder, &error);
    if (!folder) {
      return Fail("present", "not_found",
                  "`" + request_.label + "` " + std::string(FolderErrorText(error)));
    }
    Pass("present", "`" + request_.label + "` is there");
    repository_.push_back(std::move(*folder));
    folder_ = &repository_.back();
    const std::string what = "`" + request_.label + "`";
    if (!VariantNames(*folder_, "").empty()) return ChooseIn("", what);
    if (!folder_->HasFolder("build") && HasMetadata()) return ChooseItself();
    return ChooseIn("build", what);
  }

  bool HasMetadata() const {
    uint64_t size;
    FolderError error;
    return static_cast<bool>(folder_->OpenFile("metadata.json", &size, &error));
  }

  bool ChooseIn(const std::string& path, const std::string& what) {
    FolderError error = FolderError::kNone;
    if (!folder_->List(path, &error)) {
      const bool missing = error == FolderError::kMissing;
      return Fail("variant", missing ? "no_variant" : "unsafe_path",
                  what + (missing ? " has no folder `build`"
                                  : ": `build` " + std::string(FolderErrorText(error))));
    }
    const VariantChoice choice = ChooseVariant(VariantNames(*folder_, path), request_.system);
    size_t shown = 0;
    for (const auto& [name, why] : choice.rejected) {
      if (shown++ == kMaxShown) break;
      answer_.steps.push_back({"variant", false, Visible(name) + ": " + why});
    }
    if (!choice.chosen) {
      const size_t others = choice.rejected.size();
      return Fail("variant", "no_variant",
                  what + " has no build for " + SystemText(request_.system) +
                      (others == 0 ? "" : ", but " + std::to_string(others) + " for others"));
    }
    Pass("variant", "`" + *choice.chosen + "` suits " + SystemText(request_.system));
    found_.variant = *choice.chosen;
    found_.variant_folder = path.empty() ? found_.variant : path + "/" + found_.variant;
    return true;
  }

  // A folder that is a variant: what it is called says what it is for, where it says anything.
  bool ChooseItself() {
    const std::string path = request_.folder;
    const size_t end = path.find_last_not_of('/');
    const size_t slash = path.rfind('/', end);
    found_.variant = path.substr(slash + 1, end - slash);
    itself_ = true;
    const VariantChoice choice = ChooseVariant({found_.variant}, request_.system);
    if (!choice.rejected.empty()) {
      return Fail("variant", "no_variant",
                  Visible(found_.variant) + ": " + choice.rejected.begin()->second);
    }
    Pass("variant", "`" + Visible(found_.variant) + "` is a build itself");
    return true;
  }

  bool ReadVariant() {
    const std::string what = "`" + label_ + "`";
    Build build;
    Reason reason;
    if (!ReadBuildMetadata(*folder_, found_.variant_folder, &build, &reason)) {
      return Fail("metadata", reason.code, what + ": " + reason.text);
    }
    Pass("metadata", "`" + build.metadata.name + "`, version " + build.metadata.version);
    found_.metadata = build.metadata;
    if (!RunsHere(what) || !HasDependencies()) return false;
    if (!ReadBuildContent(*folder_, found_.variant_folder, &build, &reason)) {
      return Fail("digest", reason.code, what + ": " + reason.text);
    }
    Pass("digest", build.content.digest + (build.content.listed
                                               ? ", as metadata.json lists"
                                               : "; metadata.json lists nothing to compare with"));
    answer_.listed = build.content.listed;
    if (build.content.library.empty()) {
      return Fail("library", "python_only", what + " has no shared library of its own");
    }
    Pass("library", "`" + Visible(build.content.library) + "`");
    std::error_code ignored;
    found_.folder = std::filesystem::absolute(folder_->path(), ignored).string();
    found_.digest = build.content.digest;
    found_.files = std::move(build.content.files);
    found_.library = build.content.library;
    found_.layers = std::move(build.layers);
    found_.binding = std::move(build.binding);
    return true;
  }

  bool RunsHere(const std::string& what) {
    const Metadata& metadata = found_.metadata;
    const std::string backend = ReadBackend(request_.system.backend).name;
    if (itself_ && metadata.backend != backend) {
      return Fail("variant", "no_variant",
                  what + " is for " + metadata.backend + ", not for " + backend);
    }
    if (!request_.capability || metadata.archs.empty() || metadata.backend != backend) return true;
    const bool holds = ArchsHold(backend, metadata.archs, request_.capability);
    std::string archs;
    for (const std::string& arch : metadata.archs) archs += (archs.empty() ? "" : ", ") + arch;
    const std::string capability = CapabilityText(request_.capability);
    if (!holds) {
      return Fail("capability", "no_variant",
                  what + " is built for " + Visible(archs) + ", not for " + capability);
    }
    Pass("capability", what + " is built for " + Visible(archs));
    return true;
  }

  bool HasDependencies() {
    const std::string self =
        found_.repo.empty() ? request_.label : found_.repo + "@" + found_.commit;
    if (!found_.metadata.kernel_depends.empty() && !needed_by_->insert(self).second) {
      return Fail("dependency", "dependency", "`" + self + "` depends on itself");
    }
    for (const KernelDependency& dependency : found_.metadata.kernel_depends) {
      const std::string label = Visible(dependency.repo + "@" + dependency.revision);
      if (++*searches_ > kMaxDependencies) {
        return Fail("dependency", "dependency", "`" + label_ + "` depends on too many kernels");
      }
      if (std::string distrust = Distrust(dependency.repo); !distrust.empty()) {
        return Fail("dependency", "not_trusted",
                    "`" + label_ + "` depends on `" + label + "`: " + distrust);
      }
      RepositoryRequest request;
      request.cache = request_.cache;
      request.repo = dependency.repo;
      request.revision = dependency.revision;
      request.label = label;
      request.system = request_.system;
      request.capability = request_.capability;
      request.distrust = request_.distrust;
      const RepositoryAnswer answer = Finder(std::move(request), searches_, needed_by_).Run();
      // A kernel that is Python alone can be depended on.
      if (answer.reason && answer.reason->code != "python_only") {
        return Fail("dependency", "dependency",
                    "`" + label_ + "` depends on `" + label + "`: " + answer.reason->text + " [" +
                        answer.reason->code + "]");
      }
      Pass("dependency", "`" + label + "`, which it depends on, is there and trusted");
    }
    needed_by_->erase(self);
    return true;
  }

  RepositoryRequest request_;
  int* searches_;
  std::set<std::string>* needed_by_;
  RepositoryAnswer answer_;
  std::string label_;  // of where the search is: after redirects another than the request's
  FoundRepository found_;
  std::vector<Folder> repository_;
  const Folder* folder_ = nullptr;
  bool itself_ = false;
};

}  // namespace

std::vector<std::string> VariantNames(const Folder& folder, const std::string& path) {
  FolderError error;
  std::vector<std::string> names;
  for (const FolderEntry& entry : folder.List(path, &error).value_or(std::vector<FolderEntry>{})) {
    const auto name = VariantName::Parse(entry.name);
    if (entry.kind == FolderEntry::Kind::kFolder && name && name->Text() == entry.name) {
      names.push_back(entry.name);
    }
  }
  return names;
}

RepositoryAnswer FindRepository(const RepositoryRequest& request) {
  int searches = 0;
  std::set<std::string> needed_by;
  return Finder(request, &searches, &needed_by).Run();
}

}  // namespace kernelmap
