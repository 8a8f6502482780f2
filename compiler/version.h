// Version numbers: PEP 440 for kernels' refs, and the short ones of torch and CUDA.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kernelmap {

struct Comparison;

/// What is wrong with `version` after the comparison `op` of a version specifier; empty when
/// nothing is. "is not a version", "`.*` goes with `==` and `!=` only", ...
std::string VersionProblem(std::string_view op, std::string_view version);

/// A whole number of any size, as its digits without leading zeros.
struct Digits {
  std::string text = "0";
  static Digits Of(std::string_view digits);
  Digits Next() const;  // plus one
  std::strong_ordering operator<=>(const Digits& other) const;
  bool operator==(const Digits&) const = default;
};

/// A version as PEP 440 reads and orders it. Texts are not bounded here: callers bound them.
struct Version {
  struct Pre {
    int kind = 0;  // 0 alpha, 1 beta, 2 release candidate
    Digits number;
    auto operator<=>(const Pre&) const = default;
  };

  Digits epoch;
  std::vector<Digits> release;  // as written: 1.0 and 1.0.0 are equal, but keep their zeros
  std::optional<Pre> pre;
  std::optional<Digits> post, dev;
  std::vector<std::string> local;  // segments, lower case; of digits, without leading zeros

  /// Nothing for what is no version. White space around it and a leading `v` are fine.
  static std::optional<Version> Parse(std::string_view text);
  bool IsPrerelease() const { return pre || dev; }
  /// In normal form: "1.0rc1.post2" of "v1.0-c.1-2".
  std::string Text() const;
  std::strong_ordering operator<=>(const Version& other) const;
  bool operator==(const Version& other) const { return (*this <=> other) == 0; }
};

/// Whether a version satisfies all of `comparisons`, whose versions VersionProblem finds nothing
/// wrong with. Pre-releases are versions like any other here: that they are wanted less is up to
/// PickVersion.
bool Satisfies(const Version& version, const std::vector<Comparison>& comparisons);

/// Whether no version at all can satisfy `comparisons`: `>=3,<2`.
bool Unsatisfiable(const std::vector<Comparison>& comparisons);

/// The place in `names` of the highest ref `v<version>` that satisfies `comparisons` (none: any
/// version does). Pre-releases count when a comparison names one, or when nothing else satisfies.
/// Of names with equal versions the last is taken, as in Python.
std::optional<size_t> PickVersion(const std::vector<std::string>& names,
                                  const std::vector<Comparison>& comparisons);

/// The place in `names` of the ref `v<number>`, as Python's int() reads numbers ("v01", "v1_0");
/// the last of several.
std::optional<size_t> PickNumber(const std::vector<std::string>& names, int64_t number);

/// The numbers N of the refs `vN` among `names`, in order, each once.
std::vector<std::string> NumberedVersions(const std::vector<std::string>& names);

/// A release of torch: "2.13" of "2.13", "2.13.1" or "2.13.0+cu130"; `build` is what stands after
/// the plus: "cu130", "rocm6.4".
struct TorchVersion {
  std::string release;
  std::string build;
};
std::optional<TorchVersion> ParseTorchVersion(std::string_view text);

/// Whether this is two numbers, as the versions of CUDA and ROCm are written: "13.0".
bool IsTwoNumbers(std::string_view text);

}  // namespace kernelmap
