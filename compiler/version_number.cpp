// Refs that are whole numbers, `v3`, as Python's int() reads them.
#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "compiler/version.h"

namespace kernelmap {
namespace {

// Where the decimal digits of other scripts start.
constexpr char32_t kZeros[] = {
    0x0660,  0x06F0,  0x07C0,  0x0966,  0x09E6,  0x0A66,  0x0AE6,  0x0B66,  0x0BE6,  0x0C66,
    0x0CE6,  0x0D66,  0x0DE6,  0x0E50,  0x0ED0,  0x0F20,  0x1040,  0x1090,  0x17E0,  0x1810,
    0x1946,  0x19D0,  0x1A80,  0x1A90,  0x1B50,  0x1BB0,  0x1C40,  0x1C50,  0xA620,  0xA8D0,
    0xA900,  0xA9D0,  0xA9F0,  0xAA50,  0xABF0,  0xFF10,  0x104A0, 0x10D30, 0x11066, 0x110F0,
    0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0, 0x11650, 0x116C0, 0x11730, 0x118E0, 0x11950,
    0x11C50, 0x11D50, 0x11DA0, 0x16A60, 0x16AC0, 0x16B50, 0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC,
    0x1D7F6, 0x1E140, 0x1E2F0, 0x1E950, 0x1FBF0};

// The next code point of UTF-8, taken off `text`; nothing where it is none.
std::optional<char32_t> TakeCodePoint(std::string_view* text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>((*text)[i]); };
  const unsigned char first = byte(0);
  const size_t size = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (size > text->size() || (first >= 0x80 && first < 0xC0)) return std::nullopt;
  char32_t point = size == 1 ? first : first & (0xFFu >> (size + 1));
  for (size_t i = 1; i < size; ++i) point = (point << 6) | (byte(i) & 0x3F);
  text->remove_prefix(size);
  return point;
}

bool IsSpace(char32_t c) {
  return (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

// What Python's int() makes of a text, in normal form: "-1", "10" of "1_0".
std::optional<std::string> ReadInteger(std::string_view text) {
  std::u32string points;
  while (!text.empty()) {
    const std::optional<char32_t> point = TakeCodePoint(&text);
    if (!point) return std::nullopt;
    points += *point;
  }
  while (!points.empty() && IsSpace(points.back())) points.pop_back();
  while (!points.empty() && IsSpace(points.front())) points.erase(0, 1);
  const bool negative = points.starts_with(U'-');
  if (negative || points.starts_with(U'+')) points.erase(0, 1);
  std::string digits;
  bool after_digit = false;
  for (const char32_t point : points) {
    if (point == U'_' && after_digit) {
      after_digit = false;
      continue;
    }
    const auto zero = std::find_if(std::begin(kZeros), std::end(kZeros),
                                   [&](char32_t z) { return point >= z && point <= z + 9; });
    if (point >= U'0' && point <= U'9') {
      digits += static_cast<char>(point);
    } else if (zero != std::end(kZeros)) {
      digits += static_cast<char>('0' + (point - *zero));
    } else {
      return std::nullopt;
    }
    after_digit = true;
  }
  if (!after_digit) return std::nullopt;
  const Digits number = Digits::Of(digits);
  return (negative && number != Digits{} ? "-" : "") + number.text;
}

}  // namespace

std::optional<size_t> PickNumber(const std::vector<std::string>& names, int64_t number) {
  const std::string wanted = std::to_string(number);
  for (size_t i = names.size(); i-- > 0;) {
    if (names[i].starts_with('v') && ReadInteger(std::string_view(names[i]).substr(1)) == wanted) {
      return i;
    }
  }
  return std::nullopt;
}

std::vector<std::string> NumberedVersions(const std::vector<std::string>& names) {
  std::map<std::pair<bool, Digits>, std::string> numbers;  // negative ones first, in reverse
  std::vector<std::string> negative, list;
  for (const std::string& name : names) {
    if (!name.starts_with('v')) continue;
    const std::optional<std::string> number = ReadInteger(std::string_view(name).substr(1));
    if (number && number->starts_with('-')) {
      numbers[{false, Digits{number->substr(1)}}] = *number;
    } else if (number) {
      numbers[{true, Digits{*number}}] = *number;
    }
  }
  for (const auto& [key, number] : numbers) (key.first ? list : negative).push_back(number);
  std::reverse(negative.begin(), negative.end());
  list.insert(list.begin(), negative.begin(), negative.end());
  return list;
}

}  // namespace kernelmap
