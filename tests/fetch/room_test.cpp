// The room that a download needs, and help for each reason that a fetch can have.
#include "compiler/hub/room.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/hub/fetch_config.h"
#include "compiler/reasons.h"

namespace kernelmap {
namespace {

namespace fs = std::filesystem;

class RoomTest : public testing::Test {
 protected:
  RoomTest() {
    std::string name = (fs::temp_directory_path() / "room-XXXXXX").string();
    cache_ = mkdtemp(name.data());
    Reason reason;
    writer_ = CacheWriter::Open(cache_, "org/name", &reason);
  }
  ~RoomTest() override { fs::remove_all(cache_); }

  void Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(cache_ / fs::path("kernels--org--name/blobs") / name, std::ios::binary) << bytes;
  }

  fs::path cache_;
  std::optional<CacheWriter> writer_;
};

// Git's digest of 20000 times `x`.
constexpr const char* kDigest = "7eded2aa2b98c9f0d9d4bb82c277cbbd09dcd044";
const HubFile kBig{"build/a/big", 20000, kDigest};
const HubFile kOther{"build/a/other", 50, std::string(40, '1')};

TEST_F(RoomTest, EqualFilesCountOnce) {
  ASSERT_TRUE(writer_);
  HubFile again = kBig;
  again.path = "build/b/big";
  const Room room = RoomFor(*writer_, {kBig, again, kOther}, 20050);
  EXPECT_EQ(room.bytes, 20050u);
  EXPECT_EQ(room.files, 2u);
  EXPECT_TRUE(room.enough);
  EXPECT_FALSE(RoomFor(*writer_, {kBig, again, kOther}, 20049).enough);
  EXPECT_TRUE(RoomFor(*writer_, {kBig}, std::nullopt).enough);
}

TEST_F(RoomTest, OfAHalfFileTheRest) {
  Write(std::string(kDigest) + ".incomplete", std::string(12288, 'x'));
  EXPECT_EQ(RoomFor(*writer_, {kBig}, 7712).bytes, 7712u);
  EXPECT_TRUE(RoomFor(*writer_, {kBig}, 7712).enough);
  EXPECT_FALSE(RoomFor(*writer_, {kBig}, 7711).enough);
  // One that is too long is cut first.
  Write(std::string(kDigest) + ".incomplete", std::string(40000, 'x'));
  EXPECT_EQ(RoomFor(*writer_, {kBig}, 0).bytes, 0u);
  // A hole takes no room yet.
  fs::resize_file(cache_ / "kernels--org--name/blobs" / (std::string(kDigest) + ".incomplete"), 0);
  fs::resize_file(cache_ / "kernels--org--name/blobs" / (std::string(kDigest) + ".incomplete"),
                  20000);
  EXPECT_EQ(RoomFor(*writer_, {kBig}, 0).bytes, 20000u);
}

TEST_F(RoomTest, WhatIsThereNeedsNone) {
  Write(kDigest, std::string(20000, 'x'));
  EXPECT_TRUE(RoomFor(*writer_, {kBig}, 0).enough);
  EXPECT_EQ(RoomFor(*writer_, {kBig}, 0).bytes, 0u);
  // Of the same size, but damaged: it comes again, beside what is there.
  Write(kDigest, std::string(20000, 'y'));
  EXPECT_FALSE(RoomFor(*writer_, {kBig}, 19999).enough);
  EXPECT_TRUE(RoomFor(*writer_, {kBig}, 20000).enough);
  Write(kDigest, "x");
  EXPECT_EQ(RoomFor(*writer_, {kBig}, 30000).bytes, 20000u);
}

// The reasons are those that stand in the code of fetch and of the store.
TEST(FetchHelpTest, OfEveryReason) {
  std::string code;
  for (const char* folder : {"hub", "store"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(KM_SOURCE) / "compiler" / folder)) {
      if (entry.path().extension() != ".cpp" || entry.path().stem() == "fetch_help") continue;
      std::ostringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      code += text.str();
    }
  }
  size_t reasons = 0;
  for (const ReasonKind& kind : ReasonKinds()) {
    if (code.find("\"" + std::string(kind.code) + "\"") == std::string::npos) continue;
    // Words of a report, and steps of a search: not reasons there.
    if (kind.code == "capability") continue;
    ++reasons;
    const std::string help = FetchHelp({std::string(kind.code), "", ""});
    EXPECT_FALSE(help.empty()) << kind.code;
    EXPECT_EQ(help.find('\n'), std::string::npos) << kind.code;
  }
  EXPECT_GT(reasons, 25u);
}

}  // namespace
}  // namespace kernelmap
