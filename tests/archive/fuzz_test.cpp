// Damage at random but always the same places: an archive is read or refused, never more.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "compiler/archive/module_tree.h"
#include "compiler/archive/pickle.h"
#include "tests/archive/zip_writer.h"

namespace kernelmap {
namespace {

const std::filesystem::path kModels = KM_TEST_MODELS;
using Random = std::mt19937;  // the same numbers everywhere

/// Writes bytes to one file again and again, and reads them as an archive.
class Reader {
 public:
  ~Reader() { std::filesystem::remove(path_); }

  /// Whether the archive and its module tree could be read; an error has to have a message.
  bool Read(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    const ArchiveResult<Archive> archive = Archive::Open(path_.string());
    if (!archive) return Refused(archive.error());
    const ArchiveResult<ModuleTree> tree = ReadModuleTree(*archive);
    return tree ? true : Refused(tree.error());
  }

 private:
  static bool Refused(const ArchiveError& error) {
    EXPECT_FALSE(error.message.empty());
    EXPECT_NE(error.code, ArchiveErrorCode::kCannotRead) << Describe(error);
    return false;
  }

  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("kernelmap-fuzz-test-" + std::to_string(getpid()));
};

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string Model(const std::string& name) { return ReadAll(kModels / name); }

/// A few bytes changed, removed, doubled, or made extreme.
std::string Mutated(std::string bytes, Random* random, size_t from) {
  const int changes = 1 + static_cast<int>((*random)() % 4);
  for (int i = 0; i < changes && bytes.size() > from + 8; ++i) {
    const size_t at = from + (*random)() % (bytes.size() - from - 8);
    switch ((*random)() % 6) {
      case 0:
        bytes[at] = static_cast<char>((*random)());
        break;
      case 1:
        bytes[at] ^= static_cast<char>(1 << ((*random)() % 8));
        break;
      case 2:
        bytes.erase(at, 1 + (*random)() % 8);
        break;
      case 3:
        bytes.insert(at, bytes.substr(at, 1 + (*random)() % 64));
        break;
      case 4:
        bytes.replace(at, 4, 4, (*random)() % 2 ? '\xff' : '\0');
        break;
      case 5:
        bytes.replace(at, 4, bytes.substr(from + (*random)() % (bytes.size() - from), 4));
        break;
    }
  }
  return bytes;
}

TEST(Fuzz, TruncatedArchives) {
  Reader reader;
  for (const char* name : {"handmade/odd_attributes.scripted.pt", "bert.pt"}) {
    const std::string bytes = Model(name);
    ASSERT_TRUE(reader.Read(bytes));
    for (size_t size = 0; size < bytes.size(); size += 1 + bytes.size() / 200) {
      EXPECT_FALSE(reader.Read(bytes.substr(0, size))) << name << " " << size;
    }
    for (size_t cut = 1; cut < 300; ++cut) {
      EXPECT_FALSE(reader.Read(bytes.substr(0, bytes.size() - cut))) << name << " -" << cut;
    }
  }
}

TEST(Fuzz, DamagedDirectories) {
  Reader reader;
  Random random(1);
  const std::string bytes = Model("handmade/odd_attributes.scripted.pt");
  const size_t directory = bytes.find("PK\x01\x02");
  ASSERT_NE(directory, std::string::npos);
  for (int i = 0; i < 1500; ++i) reader.Read(Mutated(bytes, &random, directory));
}

TEST(Fuzz, FlippedBytes) {
  Reader reader;
  Random random(2);
  const std::string bytes = Model("handmade/shared_class.traced.pt");
  for (int i = 0; i < 500; ++i) reader.Read(Mutated(bytes, &random, 0));
}

TEST(Fuzz, DamagedPickles) {
  Random random(3);
  const ArchiveResult<Archive> archive =
      Archive::Open(kModels / "handmade/odd_attributes.scripted.pt");
  ASSERT_TRUE(archive);
  const ArchiveResult<std::string> pickle = archive->zip().Read(*archive->Find("data.pkl"));
  ASSERT_TRUE(pickle);
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    const ArchiveResult<PickleValues> values =
        PickleValues::Read(Mutated(*pickle, &random, 0), "data.pkl");
    if (values) ++read;
  }
  EXPECT_GT(read, 100);  // else the damage is too coarse to get past the reader
}

TEST(Fuzz, DamagedPicklesAndCodeInSoundZips) {
  Reader reader;
  Random random(4);
  const ArchiveResult<Archive> archive =
      Archive::Open(kModels / "handmade/odd_attributes.scripted.pt");
  ASSERT_TRUE(archive);
  std::vector<testing::MadeEntry> entries;
  for (const ZipEntry& entry : archive->zip().entries()) {
    if (entry.name.find("/data/") != std::string::npos || entry.name.ends_with(".debug_pkl"))
      continue;
    const ArchiveResult<std::string> data = archive->zip().Read(entry);
    ASSERT_TRUE(data);
    testing::MadeEntry made;
    made.name = entry.name;
    made.data = *data;
    entries.push_back(std::move(made));
  }
  ASSERT_TRUE(reader.Read(MakeZip(entries)));
  int read = 0;
  for (int i = 0; i < 1000; ++i) {
    std::vector<testing::MadeEntry> damaged = entries;
    for (testing::MadeEntry& entry : damaged) {
      const bool pickle = entry.name.ends_with("data.pkl");
      if (pickle || (entry.name.ends_with(".py") && random() % 4 == 0)) {
        entry.data = Mutated(entry.data, &random, 0);
      }
    }
    if (reader.Read(MakeZip(damaged))) ++read;
  }
  EXPECT_GT(read, 10);
}

}  // namespace
}  // namespace kernelmap
