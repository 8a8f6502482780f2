// What the store finds in caches and folders that are as they should be.
#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include "compiler/store/cache.h"
#include "compiler/store/cache_path.h"
#include "compiler/store/survey.h"
#include "tests/store/sample.h"

namespace kernelmap {
namespace {

std::vector<Comparison> Parse(const std::string& text) {
  Diagnostics diagnostics(std::make_shared<Source>("specifiers", text));
  return ParseRevision(SubText::OfSource(*diagnostics.source()), &diagnostics)->comparisons;
}

TEST(Find, ARefACommitOrANumber) {
  const Sample sample;
  sample.AddCommit("good/relu", Commit('a'), GoodBuild());
  sample.AddRef("good/relu", "v1", Commit('a'));
  sample.AddRef("good/relu", "feature/x", Commit('a') + "\n");
  sample.AddRef("good/relu", "v02", Commit('a'));
  sample.AddRef("good/relu", "v3", Commit('b'));
  for (const std::string& revision :
       {std::string("v1"), std::string("feature/x"), std::string("v2"), std::string("v02"),
        std::string("aaaaaaa"), Commit('a').substr(1), Commit('a')}) {
    const RepositoryAnswer answer = sample.Find("good/relu", revision);
    ASSERT_EQ(Code(answer), "found") << revision;
    EXPECT_EQ(answer.found->commit, Commit('a'));
  }
  for (const std::string& revision : {std::string("v3"), std::string("v4"), std::string("main"),
                                      std::string("aaaaaa"), std::string("aaaaaab"), Commit('c')}) {
    EXPECT_EQ(Code(sample.Find("good/relu", revision)), "not_found") << revision;
  }
  EXPECT_EQ(Code(sample.Find("good/other", "v1")), "not_found");
  const std::string twin = "aaaaaaa" + Commit('b').substr(7);
  sample.AddCommit("good/relu", twin, GoodBuild());
  EXPECT_EQ(Code(sample.Find("good/relu", "aaaaaaa")), "bad_ref");
  EXPECT_EQ(sample.Find("good/relu", "aaaaaaab").found->commit, twin);
  sample.AddRef("good/relu", "aaaaaaa", twin);  // a ref comes first
  EXPECT_EQ(sample.Find("good/relu", "aaaaaaa").found->commit, twin);
}

TEST(Find, Everything) {
  const Sample sample;
  sample.AddCommit("good/relu", Commit('a'), GoodBuild());
  sample.AddRef("good/relu", "v1", Commit('a'));
  const RepositoryAnswer answer = sample.Find("good/relu", "v1");
  ASSERT_EQ(Code(answer), "found");
  const FoundRepository& found = *answer.found;
  EXPECT_EQ(found.folder, (sample / "kernels--good--relu").string());
  EXPECT_EQ(found.variant_folder, "snapshots/" + Commit('a') + "/build/" + kVariant);
  EXPECT_EQ(found.repo, "good/relu");
  EXPECT_EQ(found.variant, kVariant);
  EXPECT_EQ(found.metadata.id, "_relu_1");
  EXPECT_EQ(found.library, "_relu_1.abi3.so");
  EXPECT_TRUE(found.layers.starts_with("class ReLU"));
  ASSERT_EQ(found.files.size(), 4u);
  EXPECT_EQ(found.files[1].path, "_relu_1.abi3.so");
  EXPECT_EQ(found.digest.size(), 7u + 64u);
  std::string steps;
  for (const TraceStep& step : answer.steps) steps += step.step + (step.ok ? " " : "! ");
  EXPECT_EQ(steps, "present revision variant metadata digest library ");
}

TEST(Find, SpecifiersChooseAmongRefs) {
  const Sample sample;
  sample.AddCommit("good/relu", Commit('a'), GoodBuild());
  sample.AddRef("good/relu", "v1.2", Commit('a'));
  sample.AddRef("good/relu", "v2.0", Commit('b'));
  sample.AddRef("good/relu", ">=1", Commit('b'));
  RepositoryRequest request;
  request.cache = sample.cache();
  request.repo = "good/relu";
  request.system = TestSystem();
  request.revision = ">=1,<2";
  request.comparisons = Parse(request.revision);
  EXPECT_EQ(Code(FindRepository(request)), "found");
  request.revision = ">=3";
  request.comparisons = Parse(request.revision);
  EXPECT_EQ(Code(FindRepository(request)), "not_found");
}

TEST(Find, TheOlderLayoutAndBothTogether) {
  const Sample sample;
  sample.AddCommit("good/relu", Commit('a'), GoodBuild());
  std::filesystem::rename(sample / "kernels--good--relu", sample / "models--good--relu");
  sample.Write("models--good--relu/refs/v1", Commit('a'));
  EXPECT_EQ(Code(sample.Find("good/relu", "v1")), "found");
  // The newer folder's refs come first, and a commit may lie in either.
  sample.AddCommit("good/relu", Commit('b'), GoodBuild());
  sample.AddRef("good/relu", "v1", Commit('b'));
  EXPECT_EQ(sample.Find("good/relu", "v1").found->commit, Commit('b'));
  EXPECT_EQ(sample.Find("good/relu", Commit('a')).found->commit, Commit('a'));
  FolderError error;
  EXPECT_EQ(CachedRepositories(sample.cache(), &error), std::vector<std::string>{"good/relu"});
}

TEST(Survey, ABindingsWordIsOverThatOfLayers) {
  const Sample sample;
  std::map<std::string, std::string> files = {{"__init__.py", ""},
                                              {"_relu_1.abi3.so", "not a library\n"},
                                              {"layers.py", "class ReLU(nn.Module):\n    pass\n"}};
  files["metadata.json"] = MetadataFor(files);
  std::map<std::string, std::string> build;
  for (const auto& [path, text] : files)
    build["build/" + std::string(kVariant) + "/" + path] = text;
  for (const char* repo : {"kernels-community/relu", "good/relu"}) {
    sample.AddCommit(repo, Commit('a'), build);
    KernelRef ref;
    ref.repo = repo;
    Reason reason;
    const auto info =
        SurveyCached(sample.cache(), ref, {TestSystem(), std::nullopt, SurveyDepth::kAll}, &reason);
    ASSERT_TRUE(info && info->commits[0].builds[0].details) << reason.text;
    EXPECT_EQ(info->commits[0].builds[0].details->layers[0].has_backward,
              std::string(repo) == "good/relu");
  }
}

TEST(Find, LinksWrittenAsFiles) {
  const Sample sample;
  const std::string snapshot = sample.AddCommit("good/relu", Commit('a'), GoodBuild());
  for (const auto& entry : std::filesystem::recursive_directory_iterator(sample / snapshot)) {
    if (!entry.is_symlink()) continue;
    const std::string target = std::filesystem::read_symlink(entry.path());
    std::filesystem::remove(entry.path());
    sample.Write(std::filesystem::relative(entry.path(), sample / ""), target);
  }
  EXPECT_EQ(Code(sample.Find("good/relu", Commit('a'))), "found");
}

TEST(Find, LocalFolders) {
  const Sample sample;
  for (const auto& [path, text] : GoodBuild()) sample.Write("relu/" + path, text);
  const std::string build = "relu/build/", variant = build + kVariant;
  for (const std::string& path : {std::string("relu"), std::string("relu/"), build, variant}) {
    const RepositoryAnswer answer = sample.FindFolder(path);
    ASSERT_EQ(Code(answer), "found") << path << answer.reason->text;
    EXPECT_EQ(answer.found->variant, kVariant);
    EXPECT_EQ(answer.found->digest, sample.FindFolder("relu").found->digest);
    EXPECT_EQ(answer.found->repo, "");
  }
  EXPECT_EQ(Code(sample.FindFolder("nowhere")), "not_found");
  EXPECT_EQ(Code(sample.FindFolder("relu/build/" + std::string(kVariant) + "/layers.py")),
            "not_found");
  std::filesystem::rename(sample / variant, sample / "mine");
  EXPECT_EQ(sample.FindFolder("mine").found->variant, "mine");
  EXPECT_EQ(Code(sample.FindFolder("relu")), "no_variant");
  std::filesystem::rename(sample / "mine", sample / "torch213-cxx11-cpu-aarch64-linux");
  EXPECT_EQ(Code(sample.FindFolder("torch213-cxx11-cpu-aarch64-linux")), "no_variant");
}

TEST(Find, OpenCheckedGivesACopyOfWhatWasFound) {
  const Sample sample;
  for (const auto& [path, text] : GoodBuild()) sample.Write("relu/" + path, text);
  const FoundRepository found = *sample.FindFolder("relu").found;
  std::string error;
  const int descriptor = OpenChecked(found, found.library, &error);
  ASSERT_GE(descriptor, 0) << error;
  char text[64] = {};
  EXPECT_EQ(read(descriptor, text, sizeof text), 14);
  EXPECT_STREQ(text, "not a library\n");
  EXPECT_LT(write(descriptor, "x", 1), 0);  // sealed
  close(descriptor);
  const std::string library = "relu/build/" + std::string(kVariant) + "/" + found.library;
  for (const char* other : {"not a librarY\n", "not a library\n+", ""}) {
    sample.Write(library, other);
    EXPECT_EQ(OpenChecked(found, found.library, &error), -1);
  }
  std::filesystem::remove(sample / library);
  EXPECT_EQ(OpenChecked(found, found.library, &error), -1);
  EXPECT_EQ(OpenChecked(found, "../x", &error), -1);
}

TEST(Cache, WhichFolder) {
  std::map<std::string, std::string> env = {{"HOME", "/home/me"}};
  const GetEnv get = [&](const char* name) {
    const auto found = env.find(name);
    return found == env.end() ? nullptr : found->second.c_str();
  };
  EXPECT_EQ(CacheFolder(get), "/home/me/.cache/huggingface/hub");
  env["XDG_CACHE_HOME"] = "/xdg";
  EXPECT_EQ(CacheFolder(get), "/xdg/huggingface/hub");
  env["HF_HOME"] = "~/hf";
  EXPECT_EQ(CacheFolder(get), "/home/me/hf/hub");
  env["HUGGINGFACE_HUB_CACHE"] = "$HOME/old";
  EXPECT_EQ(CacheFolder(get), "/home/me/old");
  env["HF_HUB_CACHE"] = "${HOME}/new/$UNSET/$";
  EXPECT_EQ(CacheFolder(get), "/home/me/new/$UNSET/$");
  env["KERNELS_CACHE"] = "~/kernels";
  EXPECT_EQ(CacheFolder(get), "~/kernels");
  env["KERNELS_CACHE"] = "";
  EXPECT_EQ(CacheFolder(get), "/home/me/new/$UNSET/$");
}

TEST(Cache, Home) {
  std::map<std::string, std::string> env;
  const GetEnv get = [&](const char* name) {
    const auto found = env.find(name);
    return found == env.end() ? nullptr : found->second.c_str();
  };
  const passwd* user = getpwuid(getuid());
  ASSERT_TRUE(user);
  const std::string home = user->pw_dir, name = user->pw_name;
  for (const bool set : {false, true}) {
    if (set) env["HOME"] = "";
    EXPECT_EQ(CacheFolder(get), home + "/.cache/huggingface/hub");
    EXPECT_EQ(ExpandPath("~", get), home);
  }
  env["HOME"] = "/home/me/";
  EXPECT_EQ(ExpandPath("~/x", get), "/home/me/x");
  EXPECT_EQ(ExpandPath("~" + name + "/x", get), home + "/x");
  EXPECT_EQ(ExpandPath("~no-such-user/x", get), "~no-such-user/x");
  EXPECT_EQ(ExpandPath("x/~", get), "x/~");
  env["HOME"] = "/";
  EXPECT_EQ(ExpandPath("~/x", get), "/x");
  EXPECT_EQ(ExpandPath("~", get), "/");
}

}  // namespace
}  // namespace kernelmap
