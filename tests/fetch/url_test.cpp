// Whom a URL is for, however it is written.
#include "compiler/hub/url.h"

#include <gtest/gtest.h>

namespace kernelmap {
namespace {

TEST(Url, Origin) {
  const auto hub = OriginOf("https://hub.example/");
  ASSERT_TRUE(hub);
  for (const char* same :
       {"https://hub.example", "HTTPS://HUB.example:443/x", "https://hub%2eexample/"}) {
    EXPECT_EQ(OriginOf(same), hub) << same;
  }
  for (const char* other :
       {"http://hub.example/", "https://hub.example./", "https://hub.example:8443/",
        "https://hub.example.evil/", "https://evil/hub.example"}) {
    EXPECT_NE(OriginOf(other), hub) << other;
    EXPECT_TRUE(OriginOf(other)) << other;
  }
  for (const char* none : {"", "hub.example", "file:///etc/passwd", "https://me@hub.example/",
                           "https://me:pw@hub.example/", "ftp://hub.example/", "https://"}) {
    EXPECT_FALSE(OriginOf(none)) << none;
  }
}

TEST(Url, Publisher) {
  const auto names = [](const std::string& path, const std::string& base = "") {
    return NamesPublisher("https://hub" + path, "https://hub" + base, "good");
  };
  for (const char* path :
       {"/kernels/good/relu", "/api/kernels/good/relu/refs?x=/kernels/evil/x", "/kernels//good/x",
        "/api/resolve-cache/models/good/relu/1/evil.py", "/good/relu/resolve/main/kernels/evil/x",
        "/kernels/goo%64/relu", "/kernels/evil/../good/relu", "/kernels/good/relu/a%20b"}) {
    EXPECT_TRUE(names(path)) << path;
  }
  for (const char* path : {"/kernels/evil/relu",
                           "/kernel%73/evil/relu",
                           "/%6Bernels/evil/relu",
                           "/kernels%2Fevil/relu",
                           "/KERNELS/evil/good",
                           "/kernels/good/%2e%2e/evil/relu",
                           "/kernels/good%2f..%2fevil/relu",
                           "/kernels//evil/relu",
                           "/kernels/good/../evil/relu",
                           "/kernels/good%5c..%5cevil",
                           "/evil/relu",
                           "/kernels/Good/relu",
                           "/kernels/goodness/relu",
                           "/",
                           "",
                           "/kernels",
                           "/api/models/evil/good",
                           "/kernels/good%00/relu",
                           "/kernels/good/..",
                           "/evil/kernels/good/x/../../../evil"}) {
    EXPECT_FALSE(names(path)) << path;
  }
  EXPECT_TRUE(names("/mirror/kernels/good/relu", "/mirror"));
  EXPECT_TRUE(names("/a/b/c/good/relu", "/a/b/c"));
  EXPECT_FALSE(names("/a/b/c/evil/relu", "/a/b/c"));
}

TEST(Url, Proxy) {
  EXPECT_EQ(HostOfProxy("http://me:secret@proxy.example:3128/"), "proxy.example:3128");
  EXPECT_EQ(HostOfProxy("me:secret@proxy.example:3128"), "proxy.example:3128");
  EXPECT_EQ(HostOfProxy("proxy.example"), "proxy.example:1080");
  EXPECT_EQ(HostOfProxy("socks5h://me:secret@[::1]:9"), "[::1]:9");
  EXPECT_EQ(HostOfProxy("http://[secret"), "");
}

}  // namespace
}  // namespace kernelmap
