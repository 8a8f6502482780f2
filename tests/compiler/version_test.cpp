// What the recorded cases (tests/cases/) do not ask of versions.
#include "compiler/version.h"

#include <gtest/gtest.h>

#include <iterator>

#include "compiler/languages.h"

namespace kernelmap {
namespace {

std::vector<Comparison> Read(const std::string& text) {
  Diagnostics diagnostics(std::make_shared<Source>("specifiers", text));
  const auto revision = ParseRevision(SubText::OfSource(*diagnostics.source()), &diagnostics);
  EXPECT_TRUE(revision) << text;
  return revision ? revision->comparisons : std::vector<Comparison>{};
}

TEST(Version, Order) {
  const char* ascending[] = {"0.dev0",
                             "0",
                             "1.dev1",
                             "1a1.dev1",
                             "1a1",
                             "1a1.post1",
                             "1a2",
                             "1b1",
                             "1.0rc1",
                             "1",
                             "1+a",
                             "1+a.b",
                             "1+1",
                             "1+1.a",
                             "1+2",
                             "1.post0",
                             "1.post1.dev1",
                             "1.post1",
                             "1.0.1",
                             "1.1",
                             "2",
                             "10",
                             "99999999999999999999999998",
                             "99999999999999999999999999",
                             "1!0"};
  const size_t count = std::size(ascending);
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < count; ++j) {
      const auto order = *Version::Parse(ascending[i]) <=> *Version::Parse(ascending[j]);
      EXPECT_TRUE(order == (i <=> j)) << ascending[i] << " " << ascending[j];
    }
  }
}

TEST(Version, NormalForm) {
  EXPECT_EQ(Version::Parse(" v01.0-C.02-3.DEV ")->Text(), "1.0rc2.post3.dev0");
  EXPECT_EQ(Version::Parse("1!2.0+Ubuntu-01")->Text(), "1!2.0+ubuntu.1");
  EXPECT_EQ(*Version::Parse("1.0"), *Version::Parse("1"));
  for (const char* text : {"", "v", "1.", "1.0-", "1.0+", "1..0", "main", "1.0 1"}) {
    EXPECT_FALSE(Version::Parse(text)) << text;
  }
}

TEST(Version, Unsatisfiable) {
  for (const char* text :
       {">=3,<2", ">2,<2", ">=2,<2", "==1,==2", "==1.*,==2.*", ">1,<1.post5", "~=2.0,<2", "<0.dev0",
        "!=1,==1", "==1,!=1.*", "===1.0,===1.0.0", "===main,>=0", "===2,<2", ">1.0a1,<1.0a2.dev0",
        "<1,!=0.*", "==1+a,!=1"}) {
    EXPECT_TRUE(Unsatisfiable(Read(text))) << text;
  }
  for (const char* text :
       {">=2,<3", ">=2,<=2", ">1,<2", ">2.0,<2.0.0.0.1", "==2.*,!=2.0", "===main", "==1,!=1+a",
        "==1+a,!=1+b", ">99999999999999999999,<99999999999999999999.0.1.dev0", "!=1",
        ">1.0a1,<1.0a2"}) {
    EXPECT_FALSE(Unsatisfiable(Read(text))) << text;
  }
  EXPECT_FALSE(Unsatisfiable({}));
}

}  // namespace
}  // namespace kernelmap
