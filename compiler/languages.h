// The small languages inside a config's strings: kernel references, version specifiers, device
// selectors, capabilities, modes and path patterns. Their grammars are in grammar/. Each
// parser gives a value or nothing, and then has reported why.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diagnostics.h"
#include "compiler/document.h"
#include "compiler/target.h"

namespace kernelmap {

/// Text that stands inside a larger source. Where it stands there letter for letter, places in it
/// map to places in the source; otherwise (escapes) every place maps to the whole of it.
struct SubText {
  std::string_view text;
  Span whole;  // with quotes
  bool verbatim = false;
  size_t begin = 0;  // of the text within the source, when verbatim

  Span At(size_t from, size_t to) const;
  /// All of it, without quotes where it stands there letter for letter.
  Span All() const { return At(0, text.size()); }
  SubText Part(size_t from, size_t to) const;
  static SubText OfString(const Node& string);
  static SubText OfKey(const Member& member);
  /// All of a source, as for a command-line argument.
  static SubText OfSource(const Source& source);
};

/// No text of a small language may be longer.
inline constexpr size_t kMaxText = 1024;
/// Whether a text is not looked at: it is too long, which is reported, or there are so many errors
/// that more would only take time.
bool IsSkipped(const SubText& text, Diagnostics* diagnostics);

struct Comparison {
  std::string op, version;
};

struct Revision {
  std::string text;                     // as written: ">=2.0,<3.0", "main"
  std::vector<Comparison> comparisons;  // empty: a tag, branch or commit
  Span span;
};

struct KernelRef {
  enum class Kind { kHub, kLocal, kBuiltin };
  Kind kind = Kind::kHub;
  std::string text;                  // as written
  std::string repo;                  // "org/repo" of the Hub, the path of a local kernel
  std::optional<Revision> revision;  // of the Hub
  std::string name;                  // the layer or function in it; "" when left out

  std::string Publisher() const;  // "org"; "" unless of the Hub
};

std::optional<KernelRef> ParseKernelRef(const SubText& text, Diagnostics* diagnostics);
/// Whether git allows the text as the name of a tag or branch; commits are such names too.
bool IsGitRef(std::string_view text);
/// What stands after an @: version specifiers when it starts like one.
std::optional<Revision> ParseRevision(const SubText& text, Diagnostics* diagnostics);

/// The closed interval of capabilities [low, high] as 10 * major + minor.
struct Interval {
  static constexpr int kNoLow = 0;
  static constexpr int kNoHigh = std::numeric_limits<int>::max();
  int low = kNoLow;
  int high = kNoHigh;

  bool Bounded() const { return low != kNoLow || high != kNoHigh; }
  bool Holds(int capability) const { return low <= capability && capability <= high; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

struct DeviceSelector {
  std::string device;  // canonical: "metal" is "mps"
  Interval interval;

  /// "cuda", "cuda>=8.0,<=8.9".
  std::string Text() const;
};

std::optional<DeviceSelector> ParseDeviceSelector(const SubText& text, Diagnostics* diagnostics);
/// A device without bounds.
std::optional<std::string> ParseDevice(const SubText& text, Diagnostics* diagnostics);
/// The capability of a device: `9.0`, `sm_90`, `90`, `gfx942`.
std::optional<Capability> ParseCapability(const SubText& text, std::string_view device,
                                          Diagnostics* diagnostics);
/// Whether a device has capabilities at all.
bool HasCapability(std::string_view device);

/// A set of the words of a mode.
struct Mode {
  bool inference = false, training = false, torch_compile = false, fallback = false;
  friend bool operator==(const Mode&, const Mode&) = default;
  /// "inference|torch_compile".
  std::string Text() const;
};

std::optional<Mode> ParseMode(const SubText& text, Diagnostics* diagnostics);

bool ParsePathPattern(const SubText& text, Diagnostics* diagnostics);

/// What a key looks like before it is parsed: its first word is a device's or a mode's.
enum class KeyKind { kDevice, kMode, kOther };
KeyKind ClassifyKey(std::string_view key);

/// The words, for suggestions.
const std::vector<std::string>& DeviceWords();
const std::vector<std::string>& ModeWords();

}  // namespace kernelmap
