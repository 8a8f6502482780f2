// What is read of layers.py, and which architectures a build is for.
#include "compiler/store/layers.h"

#include <gtest/gtest.h>

#include "compiler/store/archs.h"

namespace kernelmap {
namespace {

std::string Flags(const std::string& text, const std::string& name = "A") {
  const LayerFlags flags = ReadLayerFlags(text, name);
  return std::string(flags.found ? "found" : "missing") + (flags.has_backward ? " backward" : "") +
         (flags.can_torch_compile ? " compile" : "");
}

TEST(Layers, Flags) {
  EXPECT_EQ(Flags("class A:\n    pass\n"), "found backward");
  EXPECT_EQ(Flags("class B: pass\n"), "missing backward");
  EXPECT_EQ(Flags("class A(nn.Module):\n\thas_backward: bool = False\n"), "found");
  EXPECT_EQ(Flags("class A(nn.Module):\r\n  can_torch_compile = True\r\n"),
            "found backward compile");
  EXPECT_EQ(Flags("class A:\n  has_backward = False  # no\n  can_torch_compile: bool = True\n"),
            "found compile");
  EXPECT_EQ(Flags("class A:\n  has_backward = True\n  has_backward = False\n"), "found");
  EXPECT_EQ(Flags("class A:\n  has_backward = bool(1)\n  can_torch_compile = f()\n"), "found");
  EXPECT_EQ(Flags("class A:\n  has_backward: bool\n"), "found backward");
}

TEST(Layers, WhatIsNoAttribute) {
  EXPECT_EQ(Flags("class A:\n  '''\n  has_backward = False\n  '''\n"), "found backward");
  EXPECT_EQ(Flags("class A:\n  def f(self):\n    has_backward = False\n"), "found backward");
  EXPECT_EQ(Flags("class A:\n  # has_backward = False\n"), "found backward");
  EXPECT_EQ(Flags("class A:\n  x = f(\nhas_backward=False)\n"), "found backward");
  EXPECT_EQ(Flags("class A:\n  pass\nhas_backward = False\n"), "found backward");
  EXPECT_EQ(Flags("'''\nclass A:\n  has_backward = False\n'''\n"), "missing backward");
  EXPECT_EQ(Flags("class A:\n  x = 'class B:\\\n  has_backward = False'\n"), "found backward");
  EXPECT_EQ(Flags("class A:\n  has_backward == False\n"), "found backward");
  EXPECT_EQ(Flags("class A:\n  self.has_backward = False\n"), "found backward");
}

TEST(Layers, BaseClasses) {
  const std::string base =
      "class B(nn.Module):\n  has_backward = False\n  can_torch_compile = True\n";
  EXPECT_EQ(Flags(base + "class A(B):\n  pass\n"), "found compile");
  EXPECT_EQ(Flags(base + "class A(B):\n  has_backward = True\n"), "found backward compile");
  EXPECT_EQ(Flags("class A(A):\n  pass\nclass B(A): pass\n"), "found backward");
  EXPECT_EQ(Flags(base + "class A(Generic[T], B, metaclass=M):\n  pass\n"), "found compile");
  EXPECT_EQ(Flags(base + "class A(other.B):\n  pass\n"), "found backward");
}

TEST(Layers, Names) {
  std::vector<std::string> names;
  for (const auto& [name, flags] :
       ReadLayers("class B: pass\nclass A(B): pass\nif x:\n  class C: pass\nclass B: pass\n")) {
    names.push_back(name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"B", "A"}));
}

TEST(Layers, BaseClassesAreBounded) {
  std::string text = "class A0: pass\n";
  for (int i = 1; i < 30'000; ++i) {
    text += "class A" + std::to_string(i) + "(A" + std::to_string(i - 1) + "): pass\n";
  }
  EXPECT_EQ(Flags(text, "A90"), "found backward");
  EXPECT_EQ(Flags(text, "A29999"), "found");
  EXPECT_EQ(ReadLayers(text).size(), 30'000u);
}

TEST(Layers, AnyTextIsRead) {
  for (const char* text :
       {"", "class", "class ", "class (", "class A(", "class A", "'", "'''", "\\", "\"\\", "((((",
        "))))\nclass A:\n", "class A:\n =\n  = True\n  :=1\n"}) {
    ReadLayerFlags(text, "A");
  }
  EXPECT_EQ(Flags("))))\nclass A:\n  can_torch_compile = True\n"), "missing");
}

TEST(Archs, Cuda) {
  const auto holds = [](const char* arch, int major, int minor) {
    return CudaArchsHold({arch}, {major, minor});
  };
  EXPECT_TRUE(holds("8.0", 8, 0));
  EXPECT_TRUE(holds("8.0", 8, 9));
  EXPECT_FALSE(holds("8.9", 8, 6));
  EXPECT_FALSE(holds("8.0", 9, 0));
  EXPECT_TRUE(holds("9.0a", 9, 0));
  EXPECT_FALSE(holds("9.0a", 9, 1));
  EXPECT_TRUE(holds("10.0f", 10, 3));
  EXPECT_FALSE(holds("10.0f", 12, 0));
  EXPECT_TRUE(holds("12.0+PTX", 13, 0));
  EXPECT_FALSE(holds("12.0+PTX", 10, 0));
  EXPECT_FALSE(holds("9.0a+PTX", 10, 0));
  EXPECT_TRUE(holds("sm_90", 9, 0));  // a form that is not known says nothing
  EXPECT_TRUE(CudaArchsHold({}, {9, 0}));
  EXPECT_TRUE(CudaArchsHold({"8.0", "9.0a"}, {9, 0}));
  EXPECT_FALSE(CudaArchsHold({"8.0", "sm_90"}, {9, 0}));
}

TEST(Archs, Rocm) {
  EXPECT_TRUE(RocmArchsHold({"gfx90a", "gfx942"}, {9, 4}));
  EXPECT_FALSE(RocmArchsHold({"gfx90a"}, {9, 4}));
  EXPECT_TRUE(RocmArchsHold({}, {9, 4}));
}

}  // namespace
}  // namespace kernelmap
