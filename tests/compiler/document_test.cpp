// Both readers give one tree, with the places of keys and values.
#include "compiler/document.h"

#include <gtest/gtest.h>

#include <memory>

#include "compiler/suggest.h"

namespace kernelmap {
namespace {

void Print(const Node& node, const Source& source, std::string* out) {
  if (node.Is(Node::Kind::kTable)) {
    *out += "{";
    for (const Member& member : node.members) {
      *out += std::string(source.Slice(member.key_span)) + "=";
      Print(member.value, source, out);
      *out += ";";
    }
    *out += "}";
  } else if (node.Is(Node::Kind::kArray)) {
    *out += "[";
    for (const Node& item : node.items) {
      Print(item, source, out);
      *out += ";";
    }
    *out += "]";
  } else {
    *out += std::string(source.Slice(node.span));
    if (node.Is(Node::Kind::kString) && node.verbatim) {
      *out += "~" + std::string(source.Slice(node.inside));
    }
  }
}

// The tree, each leaf and key as the bytes that its span holds; or the first diagnostic.
std::string Read(Syntax syntax, const std::string& text) {
  const auto source = std::make_shared<Source>("text", text);
  Diagnostics diagnostics(source);
  const std::optional<Node> root = ReadDocument(syntax, &diagnostics);
  if (diagnostics.errors() > 0) {
    const Diagnostic& first = diagnostics.list().front();
    const LineColumn at = source->Locate(first.span.begin);
    return std::string(first.kind->code) + "@" + std::to_string(at.line) + ":" +
           std::to_string(at.column);
  }
  std::string out;
  Print(*root, *source, &out);
  return out;
}

TEST(Toml, Places) {
  EXPECT_EQ(Read(Syntax::kToml, "a = 1\nb = \"x\"\n"), "{a=1;b=\"x\"~x;}");
  EXPECT_EQ(Read(Syntax::kToml, "b = true\na = 'y'\n"), "{b=true;a='y'~y;}");
  EXPECT_EQ(Read(Syntax::kToml, "a = \"\\u0041\""), "{a=\"\\u0041\";}");
  EXPECT_EQ(Read(Syntax::kToml, "\"é\" = \"漢\" # c\nb = [1, 2.5]"),
            "{\"é\"=\"漢\"~漢;b=[1;2.5;];}");
  EXPECT_EQ(Read(Syntax::kToml, "[t]\n\"k>1\" = { x = -3 }\n[[m.l]]\nn = \"\"\"q\"\"\"\n"),
            "{t={\"k>1\"={x=-3;};};m={l=[{n=\"\"\"q\"\"\"~q;};];};}");
}

TEST(Json, Places) {
  EXPECT_EQ(Read(Syntax::kJson, "{\"a\": 1, \"b\": \"x\"}"), "{\"a\"=1;\"b\"=\"x\"~x;}");
  EXPECT_EQ(Read(Syntax::kJson, "{ \"b\" : [ 12 , -3.5e1,true,false , null ] }"),
            "{\"b\"=[12;-3.5e1;true;false;null;];}");
  EXPECT_EQ(Read(Syntax::kJson, "{\"a\\\"\": \"\\\\\"}"), "{\"a\\\"\"=\"\\\\\";}");
  EXPECT_EQ(Read(Syntax::kJson, "{\"é\": \"漢\"}\n"), "{\"é\"=\"漢\"~漢;}");
  EXPECT_EQ(Read(Syntax::kJson, "{\"a\":99999999999999999999}"), "{\"a\"=99999999999999999999;}");
}

TEST(Documents, MistakesHaveTheirPlace) {
  EXPECT_EQ(Read(Syntax::kToml, "a = 1\na = 2\n"), "KM0108@2:1");
  EXPECT_EQ(Read(Syntax::kJson, "{\"a\": 1,\n \"a\": 2}"), "KM0108@2:2");
  EXPECT_EQ(Read(Syntax::kJson, "{\"a\": 1,\n}"), "KM0105@2:1");
  EXPECT_EQ(Read(Syntax::kJson, "{\"é\": x}"), "KM0105@1:7");
  EXPECT_EQ(Read(Syntax::kJson, "{} {}"), "KM0105@1:4");
  EXPECT_EQ(Read(Syntax::kToml, "é = \"\xC0\x80\""), "KM0102@1:6");
}

TEST(Documents, LimitsHold) {
  const auto repeat = [](const std::string& text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  EXPECT_EQ(Read(Syntax::kToml, "a = " + repeat("[", 100000)).substr(0, 6), "KM0104");
  EXPECT_EQ(Read(Syntax::kToml, "a = " + repeat("[", 100) + repeat("]", 100)).substr(0, 6),
            "KM0106");
  EXPECT_EQ(
      Read(Syntax::kToml, "a = " + repeat("{a.b.c=", 100) + "1" + repeat("}", 100)).substr(0, 6),
      "KM0106");
  EXPECT_EQ(Read(Syntax::kToml, "[" + repeat("a.", 1000000) + "a]").substr(0, 6), "KM0106");
  EXPECT_EQ(Read(Syntax::kJson, repeat("[", 1000000)).substr(0, 6), "KM0106");
  EXPECT_EQ(Read(Syntax::kToml, "a = '" + repeat(".", 100000) + "'\n").substr(0, 2), "{a");
  EXPECT_EQ(Read(Syntax::kToml, repeat("a = 1\n", kMaxValues - 2)).substr(0, 8), "KM0108@2");
  // As many tables as allowed take a moment, not minutes.
  EXPECT_EQ(Read(Syntax::kToml, repeat("[[a]]\n", kMaxValues - 2)).substr(0, 2), "{a");
}

TEST(Source, Lines) {
  const Source source("folder/name.toml", "é1\r\nb\n");
  EXPECT_EQ(source.BaseName(), "name.toml");
  EXPECT_EQ(source.Line(1), "é1");
  EXPECT_EQ(source.Line(2), "b");
  EXPECT_EQ(source.Line(3), "");
  EXPECT_EQ(source.Locate(2).column, 2);
  EXPECT_EQ(source.Locate(99).line, 3);
  EXPECT_EQ(source.Offset({2, 1}), 5u);
}

TEST(Suggest, Nearest) {
  EXPECT_EQ(Nearest("modlues", {"kernel", "modules"}), "modules");
  EXPECT_EQ(Nearest("ROCM", {"cuda", "rocm"}), "rocm");
  EXPECT_EQ(Nearest("xyz", {"cuda", "rocm"}), "");
  EXPECT_EQ(Nearest("", {"a"}), "");
  EXPECT_EQ(EditDistance("ab", "ba"), 1u);
  EXPECT_EQ(EditDistance("", "abc"), 3u);
}

}  // namespace
}  // namespace kernelmap
