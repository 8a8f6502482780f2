#include "compiler/store/survey.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "compiler/store/archs.h"
#include "compiler/store/build.h"
#include "compiler/store/check_binding.h"
#include "compiler/store/layers.h"
#include "compiler/store/repository.h"
#include "compiler/store/variant_name.h"

namespace kernelmap {
namespace {

Reason MakeReason(std::string code, std::string text) {
  return Reason{std::move(code), std::move(text), ""};
}

// What a variant's name says it is for and what its metadata says must agree.
std::optional<Reason> Disagreement(const std::string& variant, const BuildDetails& details) {
  const auto name = VariantName::Parse(variant);
  if (!name) return std::nullopt;
  const bool noarch = name->framework == VariantName::Framework::kTorchNoarch;
  std::string backend = noarch ? name->noarch : name->backend.name;
  if (backend == "npu") backend = "cann";
  if (backend != "universal" && backend != details.metadata.backend) {
    return MakeReason("bad_metadata", "metadata.json is of " + details.metadata.backend +
                                          ", its folder is named after " + backend);
  }
  if (!noarch && details.library.empty()) {
    return MakeReason("python_only", "there is no shared library");
  }
  return std::nullopt;
}

// `repo`: of the Hub; "" of a folder.
void ReadDetails(const Folder& folder, const std::string& path, const std::string& repo,
                 BuildInfo* info) {
  Build build;
  Reason reason;
  if (!ReadBuildMetadata(folder, path, &build, &reason) ||
      !ReadBuildContent(folder, path, &build, &reason)) {
    info->problem = std::move(reason);
    return;
  }
  BuildDetails details;
  details.metadata = std::move(build.metadata);
  details.digest = build.content.digest;
  details.listed = build.content.listed;
  details.library = build.content.library;
  std::optional<Binding> own;
  std::optional<Reason> wrong;
  if (!build.binding.empty()) {
    wrong = ReadOwnBinding(build.binding, repo, BuiltinCatalogue(), &own);
  }
  const Binding* binding = own && !wrong ? &*own : FindBinding(repo);
  for (const auto& [name, flags] : ReadLayers(build.layers)) {
    // As plans have it: a binding's word is over that of layers.py.
    const BoundKernel* bound = binding ? binding->Find(name) : nullptr;
    details.layers.push_back(
        {name, bound ? bound->backward.value_or(flags.has_backward) : flags.has_backward,
         bound ? bound->torch_compile.value_or(flags.can_torch_compile) : flags.can_torch_compile});
  }
  info->problem = Disagreement(info->variant, details);
  if (!info->problem) info->problem = std::move(wrong);
  info->details = std::move(details);
}

// Whether a build that was read is for the capability.
std::string WrongCapability(const BuildInfo& info, const SurveyRequest& request) {
  if (!info.details || !request.capability) return "";
  const Metadata& metadata = info.details->metadata;
  const bool fine = metadata.backend == "cuda" ? CudaArchsHold(metadata.archs, *request.capability)
                    : metadata.backend == "rocm"
                        ? RocmArchsHold(metadata.archs, *request.capability)
                        : true;
  return fine ? "" : "it is built for other capabilities than the target's";
}

void AddBuilds(const Folder& folder, const std::string& path, const std::string& repo,
               const SurveyRequest& request, CommitInfo* commit) {
  FolderError error = FolderError::kNone;
  const auto entries = folder.List(path, &error);
  if (!entries) {
    commit->problem =
        error == FolderError::kMissing
            ? MakeReason("no_variant", "there is no folder `build`")
            : MakeReason("unsafe_path", "`build` " + std::string(FolderErrorText(error)));
    return;
  }
  const std::vector<std::string> names = VariantNames(folder, path);
  const VariantChoice choice = ChooseVariant(names, request.system);
  for (const std::string& name : names) {
    BuildInfo info;
    info.variant = name;
    info.chosen = choice.chosen == name;
    if (const auto why = choice.rejected.find(name); why != choice.rejected.end()) {
      info.why = why->second;
    }
    const bool wanted = request.depth == SurveyDepth::kAll ||
                        (request.depth == SurveyDepth::kChosen && info.chosen);
    if (wanted) ReadDetails(folder, path.empty() ? name : path + "/" + name, repo, &info);
    if (info.why.empty()) info.why = WrongCapability(info, request);
    if (!info.why.empty()) info.chosen = false;
    commit->builds.push_back(std::move(info));
  }
  for (const FolderEntry& entry : *entries) {
    if (!std::binary_search(names.begin(), names.end(), entry.name)) {
      commit->others.push_back(entry.name);
    }
  }
  if (names.empty()) commit->problem = MakeReason("no_variant", "there is no build");
}

void Fill(const std::vector<Folder>& repository, const std::string& repo,
          const SurveyRequest& request, CommitInfo* info) {
  for (const Folder& folder : repository) {
    const std::string snapshot = "snapshots/" + info->commit;
    if (info->commit.empty() || !folder.HasFolder(snapshot)) continue;
    info->present = true;
    info->redirect = ReadRedirect(folder, snapshot, &info->problem);
    if (info->redirect || info->problem) return;
    AddBuilds(folder, snapshot + "/build", repo, request, info);
    return;
  }
  info->problem = info->commit.empty() ? MakeReason("bad_ref", "the ref holds no commit")
                                       : MakeReason("not_found", "the commit is not in the store");
}

// The commits that refs mean, and those that no ref means.
std::vector<CommitInfo> Commits(const std::vector<Folder>& repository) {
  std::vector<CommitInfo> commits;
  std::map<std::string, size_t> places;
  const auto add = [&](const std::string& commit) -> CommitInfo& {
    const auto [place, is_new] = places.try_emplace(commit, commits.size());
    if (is_new) commits.emplace_back().commit = commit;
    return commits[place->second];
  };
  for (const CachedRef& ref : CachedRefs(repository)) add(ref.commit).refs.push_back(ref.name);
  for (const Folder& folder : repository) {
    FolderError error;
    for (const FolderEntry& entry :
         folder.List("snapshots", &error).value_or(std::vector<FolderEntry>{})) {
      if (IsCommit(entry.name)) add(entry.name);
    }
  }
  return commits;
}

}  // namespace

std::optional<RepositoryInfo> SurveyCached(const std::string& cache, const KernelRef& ref,
                                           const SurveyRequest& request, Reason* reason) {
  const std::vector<Folder> repository = OpenRepository(cache, ref.repo);
  if (repository.empty()) {
    *reason = MakeReason("not_found", "`" + ref.repo + "` is not in the store" + kFetchHint +
                                          "; KERNELS_CACHE, HF_HUB_CACHE or HF_HOME says where the "
                                          "Hugging Face cache is");
    return std::nullopt;
  }
  RepositoryInfo info;
  info.name = ref.repo;
  info.commits = Commits(repository);
  if (ref.revision) {
    const auto commit =
        FindCommit(repository, ref.revision->text, ref.revision->comparisons, ref.repo, reason);
    if (!commit) return std::nullopt;
    std::erase_if(info.commits,
                  [&](const CommitInfo& one) { return one.commit != commit->commit; });
  }
  for (CommitInfo& commit : info.commits) Fill(repository, ref.repo, request, &commit);
  return info;
}

std::optional<RepositoryInfo> SurveyFolder(const std::string& path, const SurveyRequest& request,
                                           Reason* reason) {
  FolderError error;
  const auto folder = Folder::Open(path, &error);
  if (!folder) {
    *reason = MakeReason("not_found", "`" + path + "` " + std::string(FolderErrorText(error)));
    return std::nullopt;
  }
  RepositoryInfo info;
  std::error_code ignored;
  const auto whole = std::filesystem::absolute(path, ignored).lexically_normal();
  info.name =
      whole.has_filename() ? whole.filename().string() : whole.parent_path().filename().string();
  info.local = true;
  CommitInfo& commit = info.commits.emplace_back();
  commit.present = true;
  uint64_t size;
  if (!VariantNames(*folder, "").empty()) {
    AddBuilds(*folder, "", "", request, &commit);
  } else if (!folder->HasFolder("build") && folder->OpenFile("metadata.json", &size, &error)) {
    BuildInfo build;
    build.variant = info.name;
    const VariantChoice choice = ChooseVariant({info.name}, request.system);
    if (!choice.rejected.empty()) build.why = choice.rejected.begin()->second;
    if (request.depth != SurveyDepth::kNone) ReadDetails(*folder, "", "", &build);
    if (build.why.empty()) build.why = WrongCapability(build, request);
    build.chosen = build.why.empty();
    commit.builds.push_back(std::move(build));
  } else {
    AddBuilds(*folder, "build", "", request, &commit);
  }
  return info;
}

std::vector<std::string> SurveyProblems(const RepositoryInfo& repository) {
  // A build without a library, or with another name, is no damage: what is comes first.
  std::vector<std::string> problems, harmless;
  const auto add = [&](const std::string& what, const Reason& reason) {
    const bool is_harmless = reason.code == "python_only" || reason.code == "no_variant";
    (is_harmless ? harmless : problems)
        .push_back(what + ": " + reason.text + " [" + reason.code + "]");
  };
  for (const CommitInfo& commit : repository.commits) {
    std::string name, others;  // "main (v1, v1.0)"
    for (const std::string& ref : commit.refs) {
      if (name.empty()) {
        name = Visible(ref);
      } else {
        others += (others.empty() ? "" : ", ") + Visible(ref);
      }
    }
    if (!others.empty()) name += " (" + others + ")";
    if (name.empty()) name = commit.commit;
    if (commit.problem) add(name.empty() ? repository.name : name, *commit.problem);
    for (const BuildInfo& build : commit.builds) {
      const std::string prefix = name.empty() ? "" : name + ", ";
      if (build.problem) add(prefix + Visible(build.variant), *build.problem);
    }
    for (const std::string& other : commit.others) {
      add((name.empty() ? "" : name + ", ") + Visible(other),
          MakeReason("no_variant", "no build variant has such a name"));
    }
  }
  problems.insert(problems.end(), harmless.begin(), harmless.end());
  return problems;
}

}  // namespace kernelmap
