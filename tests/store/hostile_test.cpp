// Caches that are damaged, or made to mislead: each is refused with a reason, quickly, and nothing
// outside the repository is read.
#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "tests/store/sample.h"

namespace kernelmap {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

class Hostile : public testing::Test {
 protected:
  Hostile() {
    sample_.Write("secret", "not for anyone\n");
    snapshot_ = sample_.AddCommit("good/relu", Commit('a'), GoodBuild());
    sample_.AddRef("good/relu", "v1", Commit('a'));
    variant_ = snapshot_ + "/build/" + kVariant;
  }
  ~Hostile() override {
    EXPECT_LT(std::chrono::steady_clock::now() - start_, std::chrono::seconds(20));
  }

  std::string Find(const std::string& revision = "v1") const {
    return Code(sample_.Find("good/relu", revision));
  }

  // Puts a text where the link to a blob was.
  void Replace(const std::string& path, const std::string& text) const {
    fs::remove_all(sample_ / path);
    sample_.Write(path, text);
  }

  void ReplaceByPipe(const std::string& path) const {
    fs::remove_all(sample_ / path);
    ASSERT_EQ(mkfifo((sample_ / path).c_str(), 0600), 0);
  }

  Sample sample_;
  std::string snapshot_, variant_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

TEST_F(Hostile, Refs) {
  const std::string ref = "kernels--good--relu/refs/v1";
  for (const std::string& text :
       {std::string(), std::string("../.."), Commit('a').substr(1), Commit('a') + "a",
        "../snapshots/" + Commit('a'), Commit('A'), std::string(40, '\xFF'),
        Commit('a') + std::string(100000, ' '), Commit('a') + "\n" + Commit('b')}) {
    Replace(ref, text);
    EXPECT_EQ(Find(), "bad_ref") << text.substr(0, 60);
  }
  sample_.Link(ref, (sample_ / "secret").string());
  EXPECT_EQ(Find(), "bad_ref");
  sample_.Link(ref, "v1");
  EXPECT_EQ(Find(), "bad_ref");
  ReplaceByPipe(ref);
  EXPECT_EQ(Find(), "bad_ref");
  fs::remove(sample_ / ref);
  fs::create_directory(sample_ / ref);
  EXPECT_EQ(Find(), "bad_ref");
  for (const char* name : {"../../secret", "..", ".", "a//b", "/etc/passwd", "a/../v1", ""}) {
    EXPECT_EQ(Find(name), "bad_ref") << name;
  }
}

TEST_F(Hostile, FoldersThatAreLinks) {
  fs::create_directory(sample_ / "elsewhere");
  fs::rename(sample_ / variant_, sample_ / "elsewhere/variant");
  sample_.Link(variant_, (sample_ / "elsewhere/variant").string());
  EXPECT_EQ(Find(), "no_variant");
  fs::remove_all(sample_ / (snapshot_ + "/build"));
  sample_.Link(snapshot_ + "/build", (sample_ / "elsewhere").string());
  EXPECT_EQ(Find(), "unsafe_path");
  fs::remove_all(sample_ / snapshot_);
  sample_.Link(snapshot_, (sample_ / "elsewhere").string());
  EXPECT_EQ(Find(), "not_found");
  fs::rename(sample_ / "kernels--good--relu", sample_ / "elsewhere/repository");
  sample_.Link("kernels--good--relu", (sample_ / "elsewhere/repository").string());
  EXPECT_EQ(Find(), "not_found");
}

TEST_F(Hostile, FilesThatAreLinks) {
  const std::string layers = variant_ + "/layers.py";
  for (const std::string& target :
       {std::string("/etc/passwd"), (sample_ / "secret").string(),
        std::string("../../../../../secret"), std::string("../../../../../../../../etc/passwd"),
        std::string("/dev/zero"), std::string("layers.py"), std::string("../../../../refs"),
        std::string("../../../../blobs/../../secret"), std::string("../")}) {
    sample_.Link(layers, target);
    EXPECT_EQ(Find(), "unsafe_path") << target;
  }
  sample_.Link(layers, "../../../../blobs/" + std::string(64, '0'));
  EXPECT_EQ(Find(), "incomplete");
  // A link to a link, and a loop of two.
  sample_.Link(layers, "other.py");
  sample_.Link(variant_ + "/other.py", "layers.py");
  EXPECT_EQ(Find(), "unsafe_path");
  fs::remove(sample_ / (variant_ + "/other.py"));
  // As text, which git writes where there can be no link.
  Replace(layers, "../../../../../secret");
  EXPECT_EQ(Find(), "tampered");
  Replace(layers, "../../../../../../blobs/" + std::string(64, 'a'));
  EXPECT_EQ(Find(), "unsafe_path");
}

// A blob may be a link to one that all repositories of the cache share, and to nothing else.
TEST_F(Hostile, BlobsThatAreLinks) {
  const std::string layers = variant_ + "/layers.py", name = std::string(62, '0');
  const fs::path blob = (sample_ / variant_) / fs::read_symlink(sample_ / layers);
  const std::string path = fs::relative(fs::canonical(blob), fs::canonical(sample_ / "")).string();
  const std::string shared = "blobs/ab/ab" + name;
  fs::create_directories(sample_ / "blobs/ab");
  fs::rename(sample_ / path, sample_ / shared);
  sample_.Link(path, "../../" + shared);
  EXPECT_EQ(Find(), "found");
  const FoundRepository found = *sample_.Find("good/relu", "v1").found;
  std::string error;
  const int descriptor = OpenChecked(found, "layers.py", &error);
  EXPECT_GE(descriptor, 0) << error;
  close(descriptor);
  fs::create_directories(sample_ / "blobs/cd");
  fs::copy(sample_ / shared, sample_ / ("blobs/cd/ab" + name));
  fs::copy(sample_ / shared, sample_ / "kernels--good--relu/copy");
  fs::copy(sample_ / shared, sample_ / "copy");
  for (const std::string& target :
       {(sample_ / shared).string(), "../../blobs/cd/ab" + name, std::string("../../copy"),
        "../../blobs/../" + shared, std::string("../copy"), "../../blobs/ab/../ab/ab" + name,
        "../../../" + sample_.cache().substr(sample_.cache().rfind('/') + 1) + "/" + shared,
        std::string("/etc/passwd"), "../../" + shared + "/", "../../" + shared + "0"}) {
    sample_.Link(path, target);
    EXPECT_EQ(Find(), "unsafe_path") << target;
    EXPECT_EQ(OpenChecked(found, "layers.py", &error), -1) << target;
  }
  // The link is right, but on the way or at its end is another one, or a pipe.
  sample_.Link(path, "../../" + shared);
  sample_.Link(shared, "../cd/ab" + name);
  EXPECT_EQ(Find(), "unsafe_path");
  ReplaceByPipe(shared);
  EXPECT_EQ(Find(), "unsafe_path");
  fs::remove(sample_ / shared);
  EXPECT_EQ(Find(), "unsafe_path");
  fs::copy(sample_ / "copy", sample_ / shared);
  EXPECT_EQ(Find(), "found");
  fs::rename(sample_ / "blobs", sample_ / "elsewhere");
  sample_.Link("blobs", "elsewhere");
  EXPECT_EQ(Find(), "unsafe_path");
  fs::remove(sample_ / "blobs");
  fs::rename(sample_ / "elsewhere", sample_ / "blobs");
  fs::rename(sample_ / "blobs/ab", sample_ / "blobs/ef");
  sample_.Link("blobs/ab", "ef");
  EXPECT_EQ(Find(), "unsafe_path");
}

TEST_F(Hostile, PipesAndFoldersInPlaceOfFiles) {
  for (const char* name : {"layers.py", "metadata.json"}) {
    const fs::path before = fs::read_symlink(sample_ / (variant_ + "/" + name));
    ReplaceByPipe(variant_ + "/" + name);
    EXPECT_EQ(Find(), "unsafe_path") << name;
    fs::remove(sample_ / (variant_ + "/" + name));
    fs::create_directory(sample_ / (variant_ + "/" + name));
    EXPECT_EQ(Find(), std::string(name) == "layers.py" ? "incomplete" : "unsafe_path") << name;
    sample_.Link(variant_ + "/" + name, before.string());
    EXPECT_EQ(Find(), "found");
  }
  const std::string blob = sample_.cache() + "/" + variant_ + "/layers.py";
  const std::string target = fs::canonical(blob).string();
  fs::remove(target);
  ASSERT_EQ(mkfifo(target.c_str(), 0600), 0);
  EXPECT_EQ(Find(), "unsafe_path");
}

TEST_F(Hostile, Metadata) {
  const std::string path = variant_ + "/metadata.json";
  std::string deep = "{\"a\": ", many = "{\"name\": \"relu\", \"digest\": {\"files\": {";
  for (int i = 0; i < 100000; ++i) deep += "[";
  for (int i = 0; i < 100000; ++i) many += "\"f" + std::to_string(i) + "\": \"x\", ";
  const std::string good = MetadataFor({});
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("{}"), std::string("null"),
        std::string("\xFF\xFE{"), std::string("{\"name\": \"x\0y\"}", 15), deep,
        many + "\"z\": \"\"}}}", std::string("{\"a\": 1, \"a\": 1}"), std::string(100000, ' ')}) {
    Replace(path, text);
    EXPECT_EQ(Find(), "bad_metadata") << text.substr(0, 60);
  }
  const auto change = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  for (const std::string& text :
       {change("\"relu\"", "\"Relu\""), change("\"relu\"", "\"../x\""), change("\"id\"", "\"it\""),
        change("1,", "-1,"), change("1,", "\"1\","), change("1,", "1.5,"),
        change("\"cpu\"", "\"gpu\""), change("sha256", "md5"), change("\"MIT\"", "null"),
        change("[]", "[1]"), change("\"license\"", "\"licence\""),
        MetadataFor({}, R"(, "kernel-depends": [{"repo-id": "a/b"}])"),
        MetadataFor({},
                    R"(, "kernel-depends": [{"repo-id": "a/b", "version": 1, "revision": "x"}])"),
        MetadataFor({}, R"(, "kernel-depends": ["a/b"])")}) {
    Replace(path, text);
    EXPECT_EQ(Find(), "bad_metadata") << text;
  }
  Replace(path, "");
  fs::resize_file(sample_ / path, uint64_t{1} << 30);
  EXPECT_EQ(Find(), "bad_metadata");
  fs::remove(sample_ / path);
  EXPECT_EQ(Find(), "no_metadata");
}

TEST_F(Hostile, ContentThatIsNotWhatMetadataLists) {
  const std::string library = variant_ + "/_relu_1.abi3.so";
  const fs::path before = fs::read_symlink(sample_ / library);
  const auto again = [&] { sample_.Link(library, before.string()); };
  Replace(library, "not a librarY\n");
  EXPECT_EQ(Find(), "tampered");
  Replace(library, std::string("\177ELF\2\1", 6) + std::string(58, '\x7F'));
  EXPECT_EQ(Find(), "truncated");
  Replace(library, "");
  EXPECT_EQ(Find(), "truncated");
  fs::remove(sample_ / library);
  EXPECT_EQ(Find(), "incomplete");
  again();
  for (const char* name : {"evil.py", "evil.so", "layers/__init__.py", "metadata.jsonx",
                           "\xFF\xFE.py", "\n\x1B[31m.py"}) {
    sample_.Write(variant_ + "/" + name, "x");
    const RepositoryAnswer answer = sample_.Find("good/relu", "v1");
    EXPECT_EQ(Code(answer), "tampered") << name;
    for (const char c : answer.reason->text) EXPECT_TRUE(c >= 0x20 && c < 0x7F);
    fs::remove_all(sample_ /
                   (variant_ + "/" + std::string(name).substr(0, std::string(name).find('/'))));
  }
  // Byte code is not looked at, as in Python.
  sample_.Write(variant_ + "/__pycache__/layers.pyc", "x");
  sample_.Write(variant_ + "/x.pyc", "x");
  EXPECT_EQ(Find(), "found");
}

// A library as a loader sees it: a header, and one segment of `bytes`; no table of sections.
std::string Library(uint16_t machine, uint64_t bytes) {
  std::string text(sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr), '\0');
  auto* header = reinterpret_cast<Elf64_Ehdr*>(text.data());
  std::memcpy(header->e_ident, ELFMAG, SELFMAG);
  header->e_ident[EI_CLASS] = ELFCLASS64;
  header->e_ident[EI_DATA] = ELFDATA2LSB;
  header->e_machine = machine;
  header->e_phoff = sizeof(Elf64_Ehdr);
  header->e_phentsize = sizeof(Elf64_Phdr);
  header->e_phnum = 1;
  auto* segment = reinterpret_cast<Elf64_Phdr*>(text.data() + sizeof(Elf64_Ehdr));
  segment->p_type = PT_LOAD;
  segment->p_filesz = bytes;
  return text;
}

TEST_F(Hostile, LibrariesThatLoadMoreThanThereIs) {
  const auto with = [&](const std::string& library) {
    std::map<std::string, std::string> files = {{"_relu_1.abi3.so", library}};
    files["metadata.json"] = MetadataFor(files);
    std::map<std::string, std::string> build;
    for (const auto& [name, text] : files) {
      build["build/" + std::string(kVariant) + "/" + name] = text;
    }
    sample_.AddCommit("good/elf", Commit('e'), build);
    const RepositoryAnswer answer = sample_.Find("good/elf", Commit('e'));
    fs::remove_all(sample_ / "kernels--good--elf");
    return Code(answer) + (answer.reason ? " " + answer.reason->text : "");
  };
  const std::string whole = Library(EM_X86_64, 120);
  EXPECT_EQ(with(whole), "found");
  EXPECT_TRUE(with(Library(EM_X86_64, 121)).starts_with("truncated")) << with(whole);
  EXPECT_TRUE(with(Library(EM_X86_64, ~uint64_t{0})).starts_with("truncated"));
  EXPECT_TRUE(with(whole.substr(0, 100)).starts_with("truncated"));
  EXPECT_NE(with(Library(EM_AARCH64, 120))
                .find("`_relu_1.abi3.so` is for aarch64, its folder is named after x86_64"),
            std::string::npos)
      << with(Library(EM_AARCH64, 120));
  std::string other = whole;
  other[EI_CLASS] = ELFCLASS32;
  EXPECT_TRUE(with(other).starts_with("bad_metadata"));
  other = whole;
  other[EI_DATA] = ELFDATA2MSB;
  EXPECT_TRUE(with(other).starts_with("bad_metadata"));
}

TEST_F(Hostile, PathsInDigestsLeadNowhere) {
  for (const char* path : {"../../../../../secret", "/etc/passwd", ""}) {
    Replace(variant_ + "/metadata.json", MetadataFor({{path, "not for anyone\n"}}));
    EXPECT_EQ(Find(), "incomplete") << path;
  }
}

TEST_F(Hostile, TooMuch) {
  std::string deep = variant_;
  for (int i = 0; i < 30; ++i) deep += "/d";
  fs::create_directories(sample_ / deep);
  EXPECT_EQ(Find(), "too_many_files");
  fs::remove_all(sample_ / (variant_ + "/d"));
  Replace(variant_ + "/big", "");
  fs::resize_file(sample_ / (variant_ + "/big"), uint64_t{1} << 40);
  EXPECT_EQ(Find(), "too_many_files");
}

TEST_F(Hostile, VariantNames) {
  for (const std::string& name :
       {std::string("torch2013-cxx11-cpu-x86_64-linux"), std::string("\xFF"), std::string(255, 'x'),
        std::string("torch-stable-abi"), std::string("-"), std::string("torch-\n")}) {
    fs::create_directories(sample_ / (snapshot_ + "/build/" + name));
  }
  EXPECT_EQ(Find(), "found");
  fs::remove_all(sample_ / variant_);
  EXPECT_EQ(Find(), "no_variant");
  Replace(variant_, "a file");
  EXPECT_EQ(Find(), "no_variant");
  fs::remove_all(sample_ / (snapshot_ + "/build"));
  EXPECT_EQ(Find(), "no_variant");
}

TEST_F(Hostile, Redirects) {
  const auto redirect = [&](const std::string& to, const std::string& revision = "v1") {
    Replace(snapshot_ + "/kernel-status.toml",
            "kind = \"redirect\"\ndestination = \"" + to + "\"\nrevision = \"" + revision + "\"\n");
  };
  const std::string other = sample_.AddCommit("good/other", Commit('b'), GoodBuild());
  sample_.AddRef("good/other", "v1", Commit('b'));
  redirect("good/other");
  EXPECT_EQ(sample_.Find("good/relu", "v1").found->repo, "good/other");
  redirect("good/other", "../v1");
  EXPECT_EQ(Find(), "bad_ref");
  redirect("good/other", ">=1");
  EXPECT_EQ(Find(), "not_found");
  redirect("good/nothing");
  EXPECT_EQ(Find(), "not_found");
  redirect("bad/other");
  EXPECT_EQ(Find(), "not_trusted");
  redirect("good/relu");
  EXPECT_EQ(Find(), "bad_redirect");
  for (const char* to : {"", "other", "../../secret", "good/other/x", "/good/other", "good/..",
                         "good/other@v1", "good/other:X", "builtin:x"}) {
    redirect(to);
    EXPECT_EQ(Find(), "bad_redirect") << to;
  }
  for (const char* text : {"", "kind", "kind = \"moved\"", "kind = \"redirect\"", "\xFF",
                           "kind = \"redirect\"\ndestination = 1"}) {
    Replace(snapshot_ + "/kernel-status.toml", text);
    EXPECT_EQ(Find(), "bad_redirect") << text;
  }
  sample_.Link(snapshot_ + "/kernel-status.toml", "../../../secret");
  EXPECT_EQ(Find(), "unsafe_path");
  // Two that lead to one another.
  fs::remove(sample_ / (snapshot_ + "/kernel-status.toml"));
  redirect("good/other");
  sample_.Write(other + "/kernel-status.toml",
                "kind = \"redirect\"\ndestination = \"good/relu\"\nrevision = \"v1\"\n");
  EXPECT_EQ(Find(), "bad_redirect");
}

TEST_F(Hostile, Dependencies) {
  const auto depends = [&](const std::string& repo, const std::string& on) {
    const std::string snapshot = sample_.AddCommit(
        repo, Commit('c'),
        GoodBuild(", \"kernel-depends\": [{\"repo-id\": \"" + on + "\", \"version\": 1}]"));
    sample_.AddRef(repo, "v1", Commit('c'));
    return Code(sample_.Find(repo, "v1"));
  };
  EXPECT_EQ(depends("good/user", "good/relu"), "found");
  EXPECT_EQ(depends("good/user", "good/nothing"), "dependency");
  EXPECT_EQ(depends("good/user", "bad/relu"), "not_trusted");
  EXPECT_EQ(depends("good/user", "good/user"), "dependency");
  EXPECT_EQ(depends("good/user", "../secret"), "not_trusted");
  depends("good/a", "good/b");
  EXPECT_EQ(depends("good/b", "good/a"), "dependency");
  std::string many = ", \"kernel-depends\": [{\"repo-id\": \"good/relu\", \"version\": 1}";
  for (int i = 0; i < 100; ++i) many += ", {\"repo-id\": \"good/relu\", \"version\": 1}";
  sample_.AddCommit("good/many", Commit('d'), GoodBuild(many + "]"));
  EXPECT_EQ(Code(sample_.Find("good/many", Commit('d'))), "dependency");
}

TEST_F(Hostile, NoLibraryOrSeveral) {
  const std::string build = "build/" + std::string(kVariant) + "/";
  Files python = {{build + "__init__.py", ""},
                  {build + "metadata.json", MetadataFor({{"__init__.py", ""}})}};
  sample_.AddCommit("good/python", Commit('e'), python);
  EXPECT_EQ(Code(sample_.Find("good/python", Commit('e'))), "python_only");
  Files several = {{"a.so", "x"}, {"b.so", "y"}};
  std::string metadata = MetadataFor(several);
  sample_.AddCommit(
      "good/several", Commit('f'),
      {{build + "a.so", "x"}, {build + "b.so", "y"}, {build + "metadata.json", metadata}});
  EXPECT_EQ(Code(sample_.Find("good/several", Commit('f'))), "bad_metadata");
  metadata.replace(metadata.find("_relu_1"), 7, "b");
  Replace("kernels--good--several/snapshots/" + Commit('f') + "/" + build + "metadata.json",
          metadata);
  EXPECT_EQ(sample_.Find("good/several", Commit('f')).found->library, "b.so");
}

}  // namespace
}  // namespace kernelmap
