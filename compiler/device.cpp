// Device selectors and capabilities.
#include <algorithm>
#include <cctype>
#include <charconv>

#include "compiler/antlr_parse.h"
#include "compiler/languages.h"
#include "compiler/suggest.h"

namespace kernelmap {
namespace {

constexpr int kMaxMajor = 999;
constexpr int kMaxTens = 10 * kMaxMajor + 9;

bool IsNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return c < 0x80 && std::isdigit(c); });
}

// At most `kMaxMajor` and a digit; more is no capability.
std::optional<int> ToInt(std::string_view text) {
  int value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!IsNumber(text) || result.ec != std::errc() || value > kMaxTens) {
    return std::nullopt;
  }
  return value;
}

Capability FromTens(int tens) { return {tens / 10, tens % 10}; }

std::optional<Capability> FromText(std::string_view text, std::string_view device) {
  if (device == "cuda" && text.starts_with("sm_")) {
    const std::optional<int> tens = ToInt(text.substr(3));
    return tens && *tens >= 10 ? std::optional(FromTens(*tens)) : std::nullopt;
  }
  if (device == "rocm" && text.starts_with("gfx") && text.size() >= 6) {
    // gfx942: major, one hexadecimal digit of minor, one of stepping.
    const std::string_view digits = text.substr(3);
    const std::optional<int> major = ToInt(digits.substr(0, digits.size() - 2));
    const char minor = digits[digits.size() - 2], stepping = digits.back();
    if (!major || *major > kMaxMajor || !std::isdigit(static_cast<unsigned char>(minor)) ||
        !std::isxdigit(static_cast<unsigned char>(stepping))) {
      return std::nullopt;
    }
    return Capability{*major, minor - '0'};
  }
  if (const size_t dot = text.find('.'); dot != std::string_view::npos) {
    const std::optional<int> major = ToInt(text.substr(0, dot));
    const std::string_view minor = text.substr(dot + 1);
    if (!major || *major > kMaxMajor || minor.size() != 1 || !IsNumber(minor)) return std::nullopt;
    return Capability{*major, minor[0] - '0'};
  }
  const std::optional<int> tens = ToInt(text);
  return tens && *tens >= 50 ? std::optional(FromTens(*tens)) : std::nullopt;
}

std::string HelpForCapability(std::string_view text, std::string_view device) {
  const std::optional<int> number = ToInt(text);
  if (number && *number > 0 && *number < 50) {
    return "did you mean `" + std::to_string(*number) + ".0`?";
  }
  return device == "rocm" ? "like `9.4` or `gfx942`" : "like `9.0` or `sm_90`";
}

std::string DeviceName(std::string_view word) {
  return std::string(word == "metal" ? std::string_view("mps") : word);
}

bool CheckDevice(std::string_view word, Span span, Diagnostics* diagnostics) {
  if (std::find(DeviceWords().begin(), DeviceWords().end(), word) != DeviceWords().end()) {
    return true;
  }
  // Of all words, `cpu` is the nearest to `gpu`.
  diagnostics->Report<Diag::UnknownDevice>(span, word)
      .Help(word == "gpu" ? "did you mean `cuda`?" : DidYouMeanOneOf(word, DeviceWords()));
  return false;
}

// Narrows `interval` by one bound.
void Narrow(std::string_view op, int tens, Interval* interval) {
  if (op == ">=" || op == "==") interval->low = std::max(interval->low, tens);
  if (op == ">") interval->low = std::max(interval->low, tens + 1);
  if (op == "<=" || op == "==") interval->high = std::min(interval->high, tens);
  if (op == "<") interval->high = std::min(interval->high, tens - 1);
}

std::string TensText(int tens) {
  return std::to_string(tens / 10) + "." + std::to_string(tens % 10);
}

}  // namespace

const std::vector<std::string>& DeviceWords() {
  static const std::vector<std::string> words = {"cpu", "cuda", "rocm",   "mps", "metal",
                                                 "xpu", "npu",  "neuron", "tpu"};
  return words;
}

bool HasCapability(std::string_view device) { return device == "cuda" || device == "rocm"; }

std::string DeviceSelector::Text() const {
  if (!interval.Bounded()) return device;
  if (interval.low == interval.high) return device + "==" + TensText(interval.low);
  std::string text = device;
  if (interval.low != Interval::kNoLow) text += ">=" + TensText(interval.low);
  if (interval.high != Interval::kNoHigh) {
    if (interval.low != Interval::kNoLow) text += ",";
    text += "<=" + TensText(interval.high);
  }
  return text;
}

std::optional<std::string> ParseDevice(const SubText& text, Diagnostics* diagnostics) {
  if (!CheckDevice(text.text, text.All(), diagnostics)) return std::nullopt;
  return DeviceName(text.text);
}

std::optional<Capability> ParseCapability(const SubText& text, std::string_view device,
                                          Diagnostics* diagnostics) {
  const std::optional<Capability> capability = FromText(text.text, device);
  if (!capability) {
    diagnostics->Report<Diag::BadCapability>(text.All(), text.text, device)
        .Help(HelpForCapability(text.text, device));
  }
  return capability;
}

std::optional<DeviceSelector> ParseDeviceSelector(const SubText& text, Diagnostics* diagnostics) {
  if (IsSkipped(text, diagnostics)) return std::nullopt;
  const ParseResult result = RunParser(Rule::kSelector, text.text);
  if (!result.errors.empty()) {
    const SyntaxError& error = result.errors.front();
    diagnostics->Report<Diag::BadDeviceSelector>(text.At(error.begin, error.end), error.expected,
                                                 error.found);
    return std::nullopt;
  }
  DeviceSelector selector;
  bool fine = true;
  std::string_view op;
  for (const Piece& piece : result.pieces) {
    const std::string_view part = text.text.substr(piece.begin, piece.end - piece.begin);
    const Span span = text.At(piece.begin, piece.end);
    if (piece.rule == "device") {
      if (!CheckDevice(part, span, diagnostics)) return std::nullopt;
      selector.device = DeviceName(part);
    } else if (piece.rule == "bound") {
      if (!HasCapability(selector.device)) {
        diagnostics->Report<Diag::NoCapabilities>(span, selector.device)
            .Help("leave the bounds out: `" + selector.device + "`");
        return std::nullopt;
      }
      op = part.substr(0, part.find_first_not_of("<>=!~"));
      if (op == "!=" || op == "~=" || op == "=") {
        diagnostics->Report<Diag::BadBound>(text.At(piece.begin, piece.begin + op.size()), op)
            .Help(op == "=" ? "did you mean `==`?" : "");
        fine = false;
      }
    } else if (piece.rule == "capability") {
      const std::optional<Capability> capability =
          ParseCapability(text.Part(piece.begin, piece.end), selector.device, diagnostics);
      if (!capability) {
        fine = false;
      } else {
        Narrow(op, 10 * capability->major + capability->minor, &selector.interval);
      }
    }
  }
  const int highest = std::min(selector.interval.high, kMaxTens);  // no device has more
  if (fine && selector.interval.low > highest) {
    diagnostics->Report<Diag::EmptyInterval>(text.All(), text.text);
    fine = false;
  }
  if (!fine) return std::nullopt;
  return selector;
}

}  // namespace kernelmap
