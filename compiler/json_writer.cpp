#include "compiler/json_writer.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "compiler/source.h"

namespace kernelmap {
namespace {

// A character of several bytes that a terminal takes as a command: controls, marks of direction,
// line separators (U+0080 to U+009F, U+200B to U+200F, U+2028 to U+202E, U+2060 to U+206F). 0 for
// others.
unsigned Steering(std::string_view text) {
  const auto byte = [&](size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  if (byte(0) == 0xC2) return byte(1) <= 0x9F ? byte(1) : 0;
  if (byte(0) != 0xE2 || (byte(1) != 0x80 && byte(1) != 0x81)) return 0;
  const unsigned c = 0x2000 + ((byte(1) & 1) << 6) + (byte(2) & 0x3F);
  const bool steers =
      (0x200B <= c && c <= 0x200F) || (0x2028 <= c && c <= 0x202E) || (0x2060 <= c && c <= 0x206F);
  return steers ? c : 0;
}

void AppendQuoted(std::string_view text, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  out->push_back('"');
  while (!text.empty()) {
    const size_t valid = ValidUtf8Prefix(text);
    for (size_t i = 0; i < valid; ++i) {
      const char c = text[i];
      if (const unsigned code = Steering(text.substr(i, valid - i))) {
        *out += "\\u";
        for (int shift = 12; shift >= 0; shift -= 4) out->push_back(kHex[(code >> shift) & 0xF]);
        i += code < 0x100 ? 1 : 2;
        continue;
      }
      switch (c) {
        case '"':
          *out += "\\\"";
          break;
        case '\\':
          *out += "\\\\";
          break;
        case '\n':
          *out += "\\n";
          break;
        case '\r':
          *out += "\\r";
          break;
        case '\t':
          *out += "\\t";
          break;
        default:
          if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
            *out += "\\u00";
            out->push_back(kHex[(c >> 4) & 0xF]);
            out->push_back(kHex[c & 0xF]);
          } else {
            out->push_back(c);
          }
      }
    }
    text.remove_prefix(valid);
    if (!text.empty()) {
      *out += "\xEF\xBF\xBD";
      text.remove_prefix(1);
    }
  }
  out->push_back('"');
}

}  // namespace

void JsonWriter::Before() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (empty_.empty()) return;
  if (!empty_.back()) out_.push_back(',');
  empty_.back() = false;
  out_.push_back('\n');
  out_.append(2 * empty_.size(), ' ');
}

void JsonWriter::Open(char bracket) {
  Before();
  out_.push_back(bracket);
  empty_.push_back(true);
}

void JsonWriter::Close(char bracket) {
  const bool empty = empty_.back();
  empty_.pop_back();
  if (!empty) {
    out_.push_back('\n');
    out_.append(2 * empty_.size(), ' ');
  }
  out_.push_back(bracket);
}

JsonWriter& JsonWriter::Key(std::string_view key) {
  Before();
  AppendQuoted(key, &out_);
  out_ += ": ";
  after_key_ = true;
  return *this;
}

void JsonWriter::String(std::string_view value) {
  Before();
  AppendQuoted(value, &out_);
}

void JsonWriter::Literal(std::string_view text) {
  Before();
  out_ += text;
}

void JsonWriter::Integer(int64_t value) { Literal(std::to_string(value)); }

void JsonWriter::Number(double value) {
  if (!std::isfinite(value)) return Null();
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  Literal(std::string_view(buffer, result.ptr - buffer));
}

void JsonWriter::Bool(bool value) { Literal(value ? "true" : "false"); }

void JsonWriter::Null() { Literal("null"); }

void JsonWriter::Strings(const std::vector<std::string>& values) {
  BeginArray();
  for (const std::string& value : values) String(value);
  EndArray();
}

std::string JsonWriter::Finish() && {
  out_.push_back('\n');
  return std::move(out_);
}

}  // namespace kernelmap
