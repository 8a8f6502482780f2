// What golden cases cannot show of lock files: local kernels, whose paths are absolute, and lock
// files that say anything at all.
#include "compiler/lock.h"

#include <gtest/gtest.h>

#include "tests/store/sample.h"

namespace kernelmap {
namespace {

TEST(Lock, LocalKernelsByTheirPathFromTheConfig) {
  const Sample sample;
  Target target;
  target.torch = "2.13";
  // A lock is of this machine, whatever it is.
  const std::string build =
      "kernels/relu/build/torch213-cxx11-cpu-" + SystemOf(target).arch + "-linux";
  const std::string folder = "build/" + std::string(kVariant);
  for (const auto& [path, text] : GoodBuild()) {
    sample.Write(build + path.substr(folder.size()), text);
  }
  const std::string path = (sample / "configs/config.toml").string();
  sample.Write("configs/config.toml", "use_local_kernel = true\nkernel_mapping.ReLU = \"" +
                                          (sample / "kernels/relu").string() + ":ReLU\"\n");
  std::string error;
  const Loaded loaded = *LoadConfig(path, &error);
  const Lock lock = MakeLock(*loaded.config, Environment{}, {target});
  ASSERT_EQ(lock.kernels.size(), 1u);
  EXPECT_EQ(lock.kernels[0].kernel, "../kernels/relu");
  EXPECT_EQ(lock.kernels[0].builds.size(), 1u);
  const std::string text = LockToJson(lock);
  EXPECT_EQ(text.find(sample.cache()), std::string::npos);

  sample.Write("configs/kernelmap.lock", text);
  std::vector<Diagnostic> diagnostics;
  EXPECT_TRUE(CheckAgainstLock(path, *loaded.config, "", &diagnostics, &error)) << error;
  // Without digests in its metadata any content is fine, but it is not what was locked.
  std::string metadata = MetadataFor({});
  metadata = metadata.substr(0, metadata.find(", \"digest\"")) + "}";
  sample.Write(build + "/metadata.json", metadata);
  EXPECT_FALSE(CheckAgainstLock(path, *loaded.config, "", &diagnostics, &error));
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].kind->code, "KM0506");
  std::filesystem::remove_all(sample / build);
  diagnostics.clear();
  EXPECT_FALSE(CheckAgainstLock(path, *loaded.config, "", &diagnostics, &error));
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].kind->code, "KM0504");
}

TEST(Lock, WhatIsWrittenIsRead) {
  const Sample sample;
  sample.AddCommit("kernels-community/relu", Commit('a'), GoodBuild());
  sample.AddRef("kernels-community/relu", "v1", Commit('a'));
  const Loaded loaded = LoadConfigText(
      "config.toml",
      "inherit_mapping = false\nkernel_mapping.ReLU = \"kernels-community/relu:ReLU\"");
  Environment environment;
  environment.kernel_cache = sample.cache();
  Target cpu, cuda;
  cpu.torch = cuda.torch = "2.13";
  cuda.device = "cuda";
  cuda.capability = Capability{9, 0};
  cuda.cuda = "13.0";
  const Lock lock = MakeLock(*loaded.config, environment, {cpu, cuda});
  const std::string text = LockToJson(lock);
  Diagnostics diagnostics(std::make_shared<Source>("kernelmap.lock", text));
  const std::optional<Lock> read = ReadLock(&diagnostics);
  ASSERT_TRUE(read) << DiagnosticsToText(diagnostics.list(), false);
  EXPECT_EQ(LockToJson(*read), text);
  CompareLocks(lock, *read, &diagnostics);
  EXPECT_EQ(diagnostics.errors(), 0u);
}

TEST(Lock, AnythingIsReadOrRefused) {
  for (const char* text :
       {"", "null", "{}", "[]", "[1]", "[{}]", "[{\"dependency\": 1, \"lock\": {}}]",
        "{\"format\": \"kernelmap-lock/1\", \"targets\": [{\"device\": \"x\"}], \"kernels\": []}",
        "{\"format\": \"kernelmap-lock/1\", \"targets\": {}, \"kernels\": [{\"builds\": [1, {}]}]}",
        "\xFF", "{\"format\": \"kernelmap-lock/1\""}) {
    Diagnostics diagnostics(std::make_shared<Source>("kernelmap.lock", text));
    const std::optional<Lock> lock = ReadLock(&diagnostics);
    EXPECT_EQ(lock.has_value(), diagnostics.errors() == 0) << text;
    EXPECT_EQ(lock.has_value(), std::string(text) == "[]") << text;
  }
}

}  // namespace
}  // namespace kernelmap
