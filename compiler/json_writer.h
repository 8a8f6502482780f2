// Writes JSON, two spaces a level, keys in the order given: the same calls give the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kernelmap {

/// Calls nest as JSON does: inside an object each value follows a Key. Nothing checks that.
/// Bytes of a string that are not UTF-8 become U+FFFD.
class JsonWriter {
 public:
  void BeginObject() { Open('{'); }
  void EndObject() { Close('}'); }
  void BeginArray() { Open('['); }
  void EndArray() { Close(']'); }
  JsonWriter& Key(std::string_view key);
  void String(std::string_view value);
  void Integer(int64_t value);
  void Number(double value);  // one that is not finite becomes null
  void Bool(bool value);
  void Null();
  void Strings(const std::vector<std::string>& values);

  /// The text, ending in a newline.
  std::string Finish() &&;

 private:
  void Open(char bracket);
  void Close(char bracket);
  void Before();
  void Literal(std::string_view text);

  std::string out_;
  std::vector<bool> empty_;  // one a level: nothing written in it yet
  bool after_key_ = false;
};

}  // namespace kernelmap
