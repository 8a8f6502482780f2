// Archives that are wrong in one place each: one error of the right kind, never a crash.
#include "compiler/archive/archive.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "compiler/archive/classes.h"
#include "compiler/archive/module_tree.h"
#include "compiler/archive/pickle.h"
#include "tests/archive/zip_writer.h"

namespace kernelmap {
namespace {

using testing::Bytes16;
using testing::Bytes32;
using testing::Bytes64;
using testing::MadeEntry;
using testing::MakeZip;
using testing::MinimalArchive;
using testing::ModulePickle;
using testing::PickleText;
using namespace std::string_literals;  // "…"s may hold NUL
using Code = ArchiveErrorCode;

const std::filesystem::path kModels = KM_TEST_MODELS;

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A file of these bytes, gone at the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes)
      : path_(std::filesystem::temp_directory_path() /
              ("kernelmap-archive-test-" + std::to_string(getpid()))) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// The error of reading `bytes` as an archive, with its module tree; nothing when it can be read.
std::optional<ArchiveError> ErrorOfBytes(const std::string& bytes, const ZipLimits& limits = {}) {
  const TemporaryFile file(bytes);
  const ArchiveResult<Archive> archive = Archive::Open(file.path(), limits);
  if (!archive) return archive.error();
  const ArchiveResult<ModuleTree> tree = ReadModuleTree(*archive);
  if (!tree) return tree.error();
  return std::nullopt;
}

void ExpectError(const std::string& bytes, Code code, const std::string& part,
                 const ZipLimits& limits = {}) {
  const std::optional<ArchiveError> error = ErrorOfBytes(bytes, limits);
  ASSERT_TRUE(error) << "no error, instead of: " << part;
  EXPECT_EQ(error->code, code) << Describe(*error);
  EXPECT_NE(Describe(*error).find(part), std::string::npos) << Describe(*error);
}

/// The minimal archive after one change to its entries.
std::string Changed(const std::function<void(std::vector<MadeEntry>&)>& change) {
  std::vector<MadeEntry> entries = MinimalArchive();
  change(entries);
  return MakeZip(entries);
}

std::string WithPickle(const std::string& pickle) { return MakeZip(MinimalArchive(pickle)); }

TEST(Archive, MinimalIsFine) {
  const TemporaryFile file(MakeZip(MinimalArchive()));
  const ArchiveResult<Archive> archive = Archive::Open(file.path());
  ASSERT_TRUE(archive) << Describe(archive.error());
  EXPECT_EQ(archive->root(), "m/");
  EXPECT_EQ(archive->version(), 3);
  EXPECT_EQ(archive->extra_files(), std::vector<std::string>{"notes.txt"});
  const auto notes = archive->ReadExtraFile("notes.txt");
  ASSERT_TRUE(notes);
  EXPECT_EQ(*notes, "hello");
  const auto none = archive->ReadExtraFile("none");
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value());
  const ArchiveResult<ModuleTree> tree = ReadModuleTree(*archive);
  ASSERT_TRUE(tree) << Describe(tree.error());
  ASSERT_EQ(tree->modules.size(), 1u);
  EXPECT_EQ(tree->modules[0].qualified_class, "__torch__.M");
}

TEST(Archive, DataOffsetsPointAtThePayload) {
  const std::string path = kModels / "llama.pt";
  const std::string bytes = ReadAll(path);
  const ArchiveResult<ZipFile> zip = ZipFile::Open(path);
  ASSERT_TRUE(zip) << Describe(zip.error());
  int stored = 0;
  for (const ZipEntry& entry : zip->entries()) {
    const ArchiveResult<std::string> data = zip->Read(entry);
    ASSERT_TRUE(data) << Describe(data.error());
    const ArchiveResult<uint64_t> offset = zip->DataOffset(entry);
    ASSERT_TRUE(offset) << Describe(offset.error());
    if (entry.method != 0) continue;
    ++stored;
    EXPECT_EQ(bytes.substr(*offset, entry.size), *data) << entry.name;
    if (entry.name.find("/data/") == std::string::npos) continue;
    EXPECT_EQ(*offset % 64, 0u) << entry.name;
  }
  EXPECT_GT(stored, 20);
}

TEST(Archive, Sha256) {
  const TemporaryFile file("abc");
  const ArchiveResult<std::string> digest = Sha256File(file.path());
  ASSERT_TRUE(digest);
  EXPECT_EQ(*digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Archive, Paths) {
  for (const std::string path : {"no/such/file", ".", "/dev/null"}) {
    const ArchiveResult<Archive> archive = Archive::Open(path);
    ASSERT_FALSE(archive) << path;
    EXPECT_EQ(archive.error().code, Code::kCannotRead) << path;
  }
}

TEST(Archive, SomethingElse) {
  ExpectError("", Code::kNotTorchScript, "the file is empty");
  ExpectError("hello, world", Code::kNotTorchScript, "it is a text file");
  ExpectError("hello\1 world", Code::kNotTorchScript, "not a zip file");
  ExpectError("\x10\0\0\0\0\0\0\0{\"w\":{}}        "s, Code::kNotTorchScript, "safetensors");
  ExpectError("GGUF....", Code::kNotTorchScript, "GGUF");
  ExpectError("\x1f\x8b....", Code::kNotTorchScript, "gzip");
  ExpectError("version https://git-lfs.github.com/spec/v1\n", Code::kNotTorchScript, "Git LFS");
  ExpectError(MakeZip({}), Code::kNotTorchScript, "an empty zip file");
  MadeEntry entry;
  entry.name = "a.txt";
  ExpectError(MakeZip({entry}), Code::kNotTorchScript, "a plain zip file");
  ExpectError(Changed([](auto& e) { e.erase(e.begin() + 1); }), Code::kNotTorchScript,
              "`torch.save` file (format version 3)");
  ExpectError(Changed([](auto& e) { e[0].name = "m/model.json"; }), Code::kNotTorchScript,
              "torch 1.3 or older");
  ExpectError(Changed([](auto& e) { e[0].name = "m/other"; }), Code::kNotTorchScript,
              "no `data.pkl`");
}

TEST(Archive, BadDirectory) {
  ExpectError(Changed([](auto& e) { e[3].name = "m/version"; }), Code::kDuplicate, "`m/version`");
  for (const char* name : {"m/../x", "..", "/m/x", "m//x", "m/./x", "m/a\\b", "m/a\nb", ""}) {
    ExpectError(Changed([&](auto& e) { e[3].name = name; }), Code::kUnsafeName, "not safe");
  }
  ExpectError(Changed([](auto& e) { e[0].local_name = "m/data.pkk"; }), Code::kMalformed,
              "differs from the directory");
  ExpectError(Changed([](auto& e) { e[0].header_offset = 5; }), Code::kMalformed, "overlap");
  ExpectError(Changed([](auto& e) { e[0].header_offset = 1u << 30; }), Code::kMalformed,
              "does not fit the file");
  ExpectError(Changed([](auto& e) { e[3].header_offset = 0; }), Code::kMalformed, "overlap");
  ExpectError(Changed([](auto& e) { e[0].flags = 1; }), Code::kUnsupported, "encrypted");
  ExpectError(Changed([](auto& e) { e[0].method = 12; }), Code::kUnsupported, "method 12");
  ExpectError(Changed([](auto& e) { e[0].crc = 7; }), Code::kChecksum, "checksum");
  ExpectError(Changed([](auto& e) { e[2].data = "three"; }), Code::kMalformed, "`version`");
  ExpectError(Changed([](auto& e) { e[3].extra = Bytes16(9) + Bytes16(90); }), Code::kMalformed,
              "extra field");
  ExpectError(Changed([](auto& e) { e[3].size = e[3].compressed_size = 0xffffffff; }),
              Code::kMalformed, "does not fit the file");
  ExpectError(MakeZip(MinimalArchive()) + "x", Code::kMalformed, "other bytes follow");
}

// torch.jit.load finds entries whatever their case. What it would read must not be hidden from us.
TEST(Archive, NamesThatDifferInCase) {
  const auto renamed = [](size_t entry, const char* name) {
    return Changed([&](auto& e) { e[entry].name = name; });
  };
  for (const char* name : {"m/code/__torch__.PY", "m/CODE/__torch__.py", "M/code/__torch__.py"}) {
    ExpectError(renamed(1, name), Code::kUnsafeName, "differs in case");
  }
  ExpectError(renamed(2, "m/Version"), Code::kUnsafeName, "differs in case");
  ExpectError(renamed(3, "m/Data.pkl"), Code::kDuplicate, "differ in case alone");
  ExpectError(renamed(3, "m/code/__Torch__.py"), Code::kDuplicate, "differ in case alone");
  EXPECT_FALSE(ErrorOfBytes(renamed(3, "m/extra/README")));
  EXPECT_FALSE(ErrorOfBytes(renamed(3, "m/code/__torch__/Net.py")));
}

TEST(Archive, SizesThatLie) {
  const auto code = [](auto& e) -> MadeEntry& { return e[1]; };
  ExpectError(Changed([](auto& e) { e[0].size = 1000; }), Code::kMalformed, "lies about its size");
  ExpectError(Changed([&](auto& e) { code(e).size = 0x7fffffff; }), Code::kMalformed,
              "lies about its size");
  ExpectError(Changed([&](auto& e) { code(e).size = 10; }), Code::kMalformed, "compressed data");
  ExpectError(Changed([&](auto& e) { code(e).size = 5000; }), Code::kMalformed, "compressed data");
  ExpectError(Changed([&](auto& e) { code(e).compressed_size = 20; }), Code::kMalformed,
              "compressed data");
  ExpectError(Changed([](auto& e) { e[0].compressed_size = e[0].size = 0x7ffffff0; }),
              Code::kMalformed, "does not fit the file");
  // Honest, but large: a bomb of 300 MB of zeros takes 300 KB.
  ExpectError(Changed([&](auto& e) { code(e).data = std::string(300 << 20, '\0'); }),
              Code::kTooLarge, "over the limit");
  ZipLimits few;
  few.max_entries = 3;
  ExpectError(MakeZip(MinimalArchive()), Code::kTooLarge, "3 entries", few);
}

/// A zip64 end in front of the plain end of `zip`, whose fields become all ones.
std::string WithZip64End(const std::string& zip, uint64_t count, uint64_t size, uint64_t offset,
                         uint64_t end_at) {
  const std::string body = zip.substr(0, zip.size() - 22);
  return body + "PK\x06\x06" + Bytes64(44) + Bytes16(45) + Bytes16(45) + Bytes32(0) + Bytes32(0) +
         Bytes64(count) + Bytes64(count) + Bytes64(size) + Bytes64(offset) + "PK\x06\x07" +
         Bytes32(0) + Bytes64(end_at == 0 ? body.size() : end_at) + Bytes32(1) + "PK\x05\x06" +
         Bytes32(0) + std::string(12, '\xff') + Bytes16(0);
}

TEST(Archive, Zip64) {
  const std::string zip = MakeZip(MinimalArchive());
  uint32_t size = 0, offset = 0;
  std::memcpy(&size, &zip[zip.size() - 10], 4);
  std::memcpy(&offset, &zip[zip.size() - 6], 4);
  EXPECT_FALSE(ErrorOfBytes(WithZip64End(zip, 4, size, offset, 0)));
  ExpectError(WithZip64End(zip, 5, size, offset, 0), Code::kMalformed, "no entry here");
  ExpectError(WithZip64End(zip, 3, size, offset, 0), Code::kMalformed, "longer than its entries");
  ExpectError(WithZip64End(zip, uint64_t{1} << 60, size, offset, 0), Code::kTooLarge, "entries");
  ExpectError(WithZip64End(zip, 100'000, size, offset, 0), Code::kMalformed, "too small");
  ExpectError(WithZip64End(zip, 4, uint64_t{1} << 62, offset, 0), Code::kMalformed, "does not fit");
  ExpectError(WithZip64End(zip, 4, size, ~uint64_t{0}, 0), Code::kMalformed, "does not fit");
  ExpectError(WithZip64End(zip, 4, size, offset, ~uint64_t{0}), Code::kMalformed, "points outside");
  ExpectError(WithZip64End(zip, 4, size, offset, 3), Code::kMalformed, "no zip64 end record");
}

TEST(Archive, BadModules) {
  const auto attributes = [](const std::string& code) { return WithPickle(ModulePickle(code)); };
  const std::string child = "c__torch__\nM\n)\x81}b";
  EXPECT_FALSE(ErrorOfBytes(attributes(PickleText("a") + child + PickleText("b") + child)));
  ExpectError(attributes(PickleText("a") + child + PickleText("a") + child), Code::kMalformed,
              "two attributes `a`");
  ExpectError(attributes(PickleText("a.b") + child), Code::kMalformed, "impossible name");
  ExpectError(attributes(PickleText("") + child), Code::kMalformed, "impossible name");
  ExpectError(attributes("K\x01" + child), Code::kMalformed, "without a name");
  ExpectError(WithPickle("\x80\x02K\x01."), Code::kMalformed, "does not hold a module");
  ExpectError(WithPickle("\x80\x02"
                         "c__torch__\nN\n)\x81}b."),
              Code::kMalformed, "does not hold a module");
  ExpectError(WithPickle("\x80\x02"
                         "c__torch__\nM\n)\x81."),
              Code::kMalformed, "no attributes");
  ExpectError(
      MakeZip(MinimalArchive("", "class M(Module):\n  __parameters__ = [\"w\", \"v\", ]\n")),
      Code::kMalformed, "lacks tensors");
}

TEST(Archive, SetStateCannotHide) {
  for (const std::string definition :
       {"  def __setstate__(self):\n", "  def  __setstate__(self):\n",
        "\tdef\t__setstate__ (self):\n", "  x = \"__setstate__\"\n"}) {
    const TemporaryFile file(MakeZip(MinimalArchive("", "class M(Module):\n" + definition)));
    const ArchiveResult<Archive> archive = Archive::Open(file.path());
    ASSERT_TRUE(archive);
    const ArchiveResult<ModuleTree> tree = ReadModuleTree(*archive);
    ASSERT_TRUE(tree) << Describe(tree.error());
    EXPECT_EQ(tree->set_state_classes, std::vector<std::string>{"__torch__.M"}) << definition;
  }
}

TEST(Archive, SetStateOfClassesLaidOutInOtherWays) {
  const auto classes_of = [](const std::string& source) {
    std::vector<std::string> names;
    ClassDeclarations classes;
    ScanClasses(source, "__torch__.a", &classes);
    for (const auto& [name, declared] : classes) {
      if (declared.set_state) names.push_back(name);
    }
    return names;
  };
  using Names = std::vector<std::string>;
  const std::string definition = "\n  def __setstate__(self):\n";
  EXPECT_EQ(classes_of("class M(Module):" + definition), Names{"__torch__.a.M"});
  EXPECT_EQ(classes_of("class   M (Module) :" + definition), Names{"__torch__.a.M"});
  EXPECT_EQ(classes_of("class\tM(Module):" + definition), Names{"__torch__.a"});
  EXPECT_EQ(classes_of("class \x1b[1m(Module):" + definition), Names{"__torch__.a"});
  EXPECT_EQ(classes_of("class M(Module):\n  pass\nclass N:" + definition), Names{"__torch__.a.N"});
}

TEST(Archive, CyclesAndBombsOfModules) {
  // A module that is its own child: memo entry 0 is the object, before its state is set.
  ExpectError(WithPickle("\x80\x02"
                         "c__torch__\nM\n)\x81q\x00}("s +
                         PickleText("self") + "h\x00ub."s),
              Code::kTooLarge, "nested over the limit");
  // Each module holds the one in it twice: 2^40 paths.
  std::string open = "\x80\x02", close;
  for (int i = 0; i < 40; ++i) open += "c__torch__\nM\n)\x81}(" + PickleText("a");
  close = "c__torch__\nM\n)\x81}b";
  for (int i = 0; i < 40; ++i) {
    const std::string memo(1, static_cast<char>(i));
    close += "q" + memo + PickleText("b") + "h" + memo + "ub";
  }
  ExpectError(WithPickle(open + close + "."), Code::kTooLarge, "modules");
}

TEST(Pickle, Bombs) {
  const auto expect = [](const std::string& pickle, Code code, const std::string& part) {
    const ArchiveResult<PickleValues> values = PickleValues::Read(pickle, "data.pkl");
    ASSERT_FALSE(values) << part;
    EXPECT_EQ(values.error().code, code) << Describe(values.error());
    EXPECT_NE(Describe(values.error()).find(part), std::string::npos) << Describe(values.error());
    EXPECT_EQ(values.error().entry, "data.pkl");
  };
  expect("", Code::kTruncated, "ends in the middle");
  expect("\x80\x02", Code::kTruncated, "ends in the middle");
  expect("\x80\x04", Code::kMalformed, "protocol 4");
  expect(".", Code::kMalformed, "other than one value");
  expect("NN.", Code::kMalformed, "other than one value");
  expect("N(.", Code::kMalformed, "other than one value");
  expect(std::string(5'000'000, '('), Code::kTooLarge, "nested too deeply");
  expect(std::string(30'000'000, 'N'), Code::kTooLarge, "too many values at one time");
  expect("]" + std::string(6'000'000, 'h'), Code::kMalformed, "memo entry");
  expect("Nr\xff\xff\xff\x7f", Code::kMalformed, "leaves memo entries out");
  expect("Nq\x01", Code::kMalformed, "leaves memo entries out");
  expect("j\xff\xff\xff\xff", Code::kMalformed, "memo entry that is not there");
  expect(
      "X\xff\xff\xff\xff"
      "abc",
      Code::kTruncated, "ends in the middle");
  expect(
      "\x8a\xff"
      "abc",
      Code::kTruncated, "ends in the middle");
  expect("\x8a\x09" + std::string(9, '\x01'), Code::kMalformed, "beyond 64 bits");
  expect("cabc", Code::kTruncated, "ends in the middle of a name");
  expect("t", Code::kMalformed, "has not opened");
  expect("N(\x85", Code::kMalformed, "not there");
  expect("\x86", Code::kMalformed, "not there");
  expect("NN\x81", Code::kMalformed, "calls what is not a name");
  expect("ca\nb\nNR", Code::kMalformed, "not arguments");
  expect("NNb", Code::kMalformed, "state of what has none");
  expect("ca\nb\n)\x81}b}b", Code::kMalformed, "twice");
  expect("N(Nu", Code::kMalformed, "cannot hold them");
  expect("}(Nu", Code::kMalformed, "key without value");
  expect("i", Code::kUnsupported, "opcode 0x69");
  expect("N0", Code::kUnsupported, "opcode 0x30");
}

TEST(Pickle, CallsNothing) {
  const ArchiveResult<PickleValues> values = PickleValues::Read(
      "\x80\x02"
      "cos\nsystem\n(" +
          PickleText("touch ran") + "tR.",
      "data.pkl");
  ASSERT_TRUE(values) << Describe(values.error());
  EXPECT_EQ(values->kind(values->root()), PickleKind::kCall);
  EXPECT_EQ(values->Text(values->Items(values->root())[0]), "os\nsystem");
}

TEST(Pickle, Values) {
  const std::string pickle = "\x80\x02(N\x88\x89K\xffM\xff\xffJ"s +
                             Bytes32(static_cast<uint32_t>(-5)) + "\x8a\x01\xff"s + "\x8a\x00"s +
                             "\x8a\x05" + "\x00\xf2\x05\x2a\x01"s + "G\x3f\xe0\0\0\0\0\0\0"s +
                             PickleText("text") +
                             "](K\x01K\x02"
                             "eK\x03"
                             "a}K\x01K\x02st.";
  const ArchiveResult<PickleValues> read = PickleValues::Read(pickle, "p");
  ASSERT_TRUE(read) << Describe(read.error());
  const PickleValues& v = *read;
  const auto items = v.Items(v.root());
  ASSERT_EQ(items.size(), 13u);
  EXPECT_EQ(v.kind(items[0]), PickleKind::kNone);
  EXPECT_EQ(v.Integer(items[1]), 1);
  EXPECT_EQ(v.Integer(items[2]), 0);
  EXPECT_EQ(v.Integer(items[3]), 255);
  EXPECT_EQ(v.Integer(items[4]), 65535);
  EXPECT_EQ(v.Integer(items[5]), -5);
  EXPECT_EQ(v.Integer(items[6]), -1);
  EXPECT_EQ(v.Integer(items[7]), 0);
  EXPECT_EQ(v.Integer(items[8]), 5'000'000'000);
  EXPECT_EQ(v.Float(items[9]), 0.5);
  EXPECT_EQ(v.Text(items[10]), "text");
  EXPECT_EQ(v.Items(items[11]).size(), 3u);
  EXPECT_EQ(v.kind(items[12]), PickleKind::kDict);
}

}  // namespace
}  // namespace kernelmap
