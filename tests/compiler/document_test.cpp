// Both readers give one tree, with the places of keys and values.
#include "compiler/document.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <random>

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
  EXPECT_EQ(Read(Syntax::kToml, "a = " + repeat("[", 100000)), "KM0106@1:69");
  EXPECT_EQ(Read(Syntax::kToml, "a = " + repeat("[", 65) + repeat("]", 65)), "KM0106@1:69");
  EXPECT_EQ(Read(Syntax::kToml, "a = " + repeat("[", 64) + repeat("]", 64)).substr(0, 2), "{a");
  EXPECT_EQ(Read(Syntax::kToml, repeat("a.", 63) + "a = 1").substr(0, 2), "{a");
  EXPECT_EQ(Read(Syntax::kToml, "[b]\n" + repeat("a.", 63) + "a = 1"), "KM0106@2:126");
  EXPECT_EQ(Read(Syntax::kToml, "[b]\n" + repeat("a.", 62) + "a = {x = 1}"), "KM0106@2:134");
  EXPECT_EQ(Read(Syntax::kJson, repeat("[", 64) + repeat("]", 64)).substr(0, 2), "[[");
  EXPECT_EQ(
      Read(Syntax::kToml, "a = " + repeat("{a.b.c=", 100) + "1" + repeat("}", 100)).substr(0, 6),
      "KM0106");
  EXPECT_EQ(Read(Syntax::kToml, "[" + repeat("a.", 1000000) + "a]").substr(0, 6), "KM0106");
  EXPECT_EQ(Read(Syntax::kJson, repeat("[", 1000000)).substr(0, 6), "KM0106");
  EXPECT_EQ(Read(Syntax::kToml, "a = '" + repeat(".", 100000) + "'\n").substr(0, 2), "{a");
  EXPECT_EQ(Read(Syntax::kToml, repeat("a = 1\n", kMaxValues - 2)).substr(0, 8), "KM0108@2");
  // As many values as allowed take a moment, not minutes; one more is refused, whatever it is.
  const auto numbers = [&](int count) { return repeat("1,", count - 1) + "1"; };
  EXPECT_EQ(Read(Syntax::kToml, repeat("[[a]]\n", kMaxValues - 2)).substr(0, 2), "{a");
  EXPECT_EQ(Read(Syntax::kToml, repeat("[[a]]\n", kMaxValues - 1)).substr(0, 6), "KM0107");
  EXPECT_EQ(Read(Syntax::kToml, "a=[" + numbers(kMaxValues - 2) + "]").substr(0, 2), "{a");
  EXPECT_EQ(Read(Syntax::kToml, "a=[" + numbers(kMaxValues - 1) + "]").substr(0, 6), "KM0107");
  EXPECT_EQ(Read(Syntax::kJson, "[" + numbers(kMaxValues - 1) + "]").substr(0, 2), "[1");
  EXPECT_EQ(Read(Syntax::kJson, "[" + numbers(kMaxValues) + "]").substr(0, 6), "KM0107");
}

TEST(Documents, DuplicatesOfLargeFiles) {
  // Too large to be read again: the first is reported, as toml++ does.
  const std::string large = "a = '" + std::string(5u << 20, 'x') + "'\n";
  EXPECT_EQ(Read(Syntax::kToml, large + "b = 1\nb = 2\nb = 3\n"), "KM0104@3:5");
  EXPECT_EQ(Read(Syntax::kToml, "b = 1\nb = 2\nb = 3\n"), "KM0108@2:1");
}

TEST(Documents, ManyDots) {
  // The worst that dots can do: each key looks another up, the farther back the more there are.
  const auto keys = [](int count) {
    std::string text;
    for (int i = 0; i < count / 2; ++i) text += "k" + std::to_string(i) + ".a = 1\n";
    for (int i = count / 2; i-- > 0;) text += "k" + std::to_string(i) + ".b = 1\n";
    return text;
  };
  EXPECT_EQ(Read(Syntax::kToml, keys(kMaxDots)).substr(0, 3), "{k0");
  EXPECT_EQ(Read(Syntax::kToml, keys(kMaxDots + 2)).substr(0, 6), "KM0111");
  // Only dots of keys count, not those of values.
  std::string values = "a = [";
  for (int i = 0; i <= kMaxDots; ++i) values += "1.5,";
  EXPECT_EQ(Read(Syntax::kToml, values + "]").substr(0, 2), "{a");
}

TEST(Source, PlacesInEveryText) {
  // Against counting by hand, in a text with long and short lines, and in one that is all ASCII.
  std::string text;
  for (int i = 0; i < 300; ++i) text += i % 7 == 0 ? "漢😀x" : i % 3 == 0 ? "é" : "a";
  text += "\n\né\r\n" + std::string(200, 'b');
  for (const std::string& t : {text, std::string(130, 'a') + "\n" + std::string(70, 'b')}) {
    const Source source("text", t);
    LineColumn at;
    for (size_t i = 0; i < t.size(); ++i) {
      if ((static_cast<unsigned char>(t[i]) & 0xC0) == 0x80) continue;
      EXPECT_EQ(source.Locate(i).line, at.line) << i;
      EXPECT_EQ(source.Locate(i).column, at.column) << i;
      EXPECT_EQ(source.Offset(at), i);
      if (t[i] == '\n') {
        at = {at.line + 1, 1};
      } else {
        ++at.column;
      }
    }
    EXPECT_EQ(source.Offset(at), t.size());
  }
}

TEST(Diagnostics, KeepsAHundredOfEach) {
  const auto source = std::make_shared<Source>("text", std::string(1000, 'x'));
  Diagnostics diagnostics(source);
  int made = 0;
  for (size_t i = 0; i < 150; ++i) {
    diagnostics.Report<Diag::NulByte>({i, i + 1}).Help([&] {
      ++made;
      return "help";
    });
    diagnostics.Report<Diag::NeverChosenMode>({i / 2, i});
  }
  diagnostics.Report<Diag::NeverChosenMode>({500, 501});
  diagnostics.Finish();
  EXPECT_EQ(made, 100);
  EXPECT_EQ(diagnostics.errors(), 150u);
  EXPECT_EQ(diagnostics.warnings(), 151u);
  ASSERT_EQ(diagnostics.list().size(), 202u);
  const Diagnostic& errors = diagnostics.list()[200];
  const Diagnostic& warnings = diagnostics.list()[201];
  EXPECT_EQ(errors.message, "errors that are not shown: 50");
  EXPECT_EQ(errors.span.begin, 100u);
  EXPECT_EQ(errors.stands_for, 50u);
  EXPECT_EQ(warnings.message, "warnings that are not shown: 51");
  EXPECT_EQ(warnings.span.begin, 50u);
}

TEST(Diagnostics, EqualOnesCountOnce) {
  Diagnostics diagnostics(std::make_shared<Source>("text", "xyz"));
  for (int i = 0; i < 3; ++i) diagnostics.Report<Diag::NulByte>({1, 2});
  diagnostics.Report<Diag::NulByte>({0, 1});
  diagnostics.Finish();
  EXPECT_EQ(diagnostics.list().size(), 2u);
  EXPECT_EQ(diagnostics.errors(), 2u);
}

TEST(Diagnostics, QuotesLittle) {
  Diagnostics diagnostics(std::make_shared<Source>("text", "xyz"));
  std::string key;
  for (int i = 0; i < 100000; ++i) key += "漢";
  diagnostics.Report<Diag::DuplicateKey>({0, 1}, key).Help(key).Note({0, 1}, key);
  const Diagnostic& diagnostic = diagnostics.list().front();
  for (const std::string& text :
       {diagnostic.message, diagnostic.help[0], diagnostic.labels[0].text}) {
    EXPECT_LT(text.size(), 400u);
    EXPECT_EQ(ValidUtf8Prefix(text), text.size());
  }
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
  EXPECT_EQ(EditDistance("abcdef", "uvwxyz", 3), 3u);
}

// What is left out before the distance is known is left out for good reason.
TEST(Suggest, NearestIsNearest) {
  std::mt19937 random(7);
  const auto word = [&] {
    std::string text;
    for (size_t i = 0, size = 1 + random() % 9; i < size; ++i) text += "abAB_"[random() % 5];
    return text;
  };
  const auto lower = [](std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
  };
  int found = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::string text = word();
    const std::vector<std::string> words = {word(), word(), word()};
    std::string nearest;
    size_t best = std::max<size_t>(1, text.size() / 3) + 1;
    for (const std::string& other : words) {
      const size_t distance = EditDistance(lower(text), lower(other));
      if (distance >= best || distance >= other.size()) continue;
      best = distance;
      nearest = other;
    }
    EXPECT_EQ(Nearest(text, words), nearest) << text;
    found += !nearest.empty();
  }
  EXPECT_GT(found, 300);
}

}  // namespace
}  // namespace kernelmap
