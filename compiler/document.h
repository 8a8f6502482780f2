// A config file as a tree, whichever of TOML and JSON it was written in: values with the places
// they and their keys were written at. This knows nothing of what the keys mean.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diagnostics.h"
#include "compiler/source.h"

namespace kernelmap {

struct Member;

struct Node {
  enum class Kind { kNull, kBool, kInteger, kFloat, kString, kDate, kArray, kTable };

  Kind kind = Kind::kNull;
  Span span;  // the value as written; of a string, with its quotes
  bool boolean = false;
  int64_t integer = 0;
  double number = 0;            // of a float
  std::string text;             // of a string, decoded
  bool verbatim = false;        // of a string: `text` stands in the file as it is, at `inside`
  Span inside;                  // of a string: what is between its quotes
  std::vector<Node> items;      // of an array
  std::vector<Member> members;  // of a table, in the order of the file

  bool Is(Kind k) const { return kind == k; }
  /// The member of a table, or null.
  const Member* Find(std::string_view key) const;
};

/// Keys are unique within a table.
struct Member {
  std::string key;
  Span key_span;          // with its quotes, when it has any
  bool verbatim = false;  // `key` stands in the file as it is, at `inside`
  Span inside;
  Node value;
};

/// "a string", "a table", ... for messages.
std::string_view KindName(Node::Kind kind);

enum class Syntax { kToml, kJson };

/// What a file name says: JSON when it ends in ".json"; else a text whose first character other
/// than white space is `{` is JSON, and anything else TOML.
Syntax GuessSyntax(std::string_view file_name, std::string_view text);

/// Takes it from the front of a file's text, where some editors put one.
void RemoveByteOrderMark(std::string* text);

inline constexpr size_t kMaxFileBytes = 16u << 20;
inline constexpr int kMaxDepth = 64;
inline constexpr int kMaxValues = 250000;  // tables, keys and items; a config has a few an entry
inline constexpr int kMaxDots = 60000;     // in TOML keys, and in headers; see toml_reader.cpp

/// How much is read. What kernelmap wrote itself may be larger than a config.
struct DocumentLimits {
  size_t bytes = kMaxFileBytes;
  int values = kMaxValues;  // of JSON
};

/// The root table; nothing, and a diagnostic, when the text is not valid. A first syntax error
/// ends the reading; duplicate keys of JSON are all reported.
std::optional<Node> ReadDocument(Syntax syntax, Diagnostics* diagnostics,
                                 const DocumentLimits& limits = {});

// The two readers behind ReadDocument. Both expect valid UTF-8 without NUL bytes.
std::optional<Node> ReadToml(Diagnostics* diagnostics);
std::optional<Node> ReadJson(Diagnostics* diagnostics, int max_values = kMaxValues);

}  // namespace kernelmap
