// Version specifiers with the meaning of PEP 440.
#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "compiler/languages.h"
#include "compiler/lower.h"
#include "compiler/version.h"

namespace kernelmap {
namespace {

// A comparison with its version read. `===` has a text instead.
struct Parsed {
  std::string op;
  Version version;
  bool wildcard = false;
  std::string text;
};

std::vector<Parsed> Parse(const std::vector<Comparison>& comparisons) {
  std::vector<Parsed> list;
  for (const Comparison& comparison : comparisons) {
    Parsed parsed;
    parsed.op = comparison.op;
    parsed.text = Lower(comparison.version);
    std::string_view text = comparison.version;
    if (parsed.op != "===") {
      parsed.wildcard = text.ends_with(".*");
      if (parsed.wildcard) text.remove_suffix(2);
      if (std::optional<Version> version = Version::Parse(text)) parsed.version = *version;
    }
    list.push_back(std::move(parsed));
  }
  return list;
}

Version WithoutLocal(Version version) {
  version.local.clear();
  return version;
}

// The release of `version`, cut or filled up with zeros, is the first `count` parts of `other`.
bool HasPrefix(const Version& version, const Version& other, size_t count) {
  static const Digits zero;
  if (version.epoch != other.epoch) return false;
  for (size_t i = 0; i < count; ++i) {
    if ((i < version.release.size() ? version.release[i] : zero) != other.release[i]) return false;
  }
  return true;
}

// A post-release of what `>` compares with is not greater than it.
bool IsPostOf(const Version& version, const Version& of) {
  if (of.post || of.dev || !version.post) return false;
  Version base = WithoutLocal(version);
  base.post.reset();
  base.dev.reset();
  return base == of;
}

bool SatisfiesOne(const Version& version, const Parsed& comparison) {
  const std::string& op = comparison.op;
  const Version& than = comparison.version;
  if (op == "===") return Lower(version.Text()) == comparison.text;
  if (op == "==" || op == "!=") {
    bool equal = version == than;
    if (comparison.wildcard) {
      equal = HasPrefix(version, than, than.release.size());
    } else if (than.local.empty()) {
      equal = WithoutLocal(version) == than;
    }
    return equal == (op == "==");
  }
  if (op == ">=") return version >= than;
  if (op == "<=") return WithoutLocal(version) <= than;
  if (op == ">") return WithoutLocal(version) > than && !IsPostOf(version, than);
  if (op == "~=") return version >= than && HasPrefix(version, than, than.release.size() - 1);
  // `<`: the pre-releases of a final release come before it, but are not meant.
  Version bound = than;
  if (!bound.IsPrerelease()) bound.dev = Digits{};
  return version < bound;
}

bool SatisfiesAll(const Version& version, const std::vector<Parsed>& comparisons) {
  return std::all_of(comparisons.begin(), comparisons.end(),
                     [&](const Parsed& one) { return SatisfiesOne(version, one); });
}

// Whether a comparison names a pre-release, so that pre-releases are wanted.
bool NamesPrerelease(const Parsed& comparison) {
  if (comparison.op == "!=" || comparison.wildcard) return false;
  if (comparison.op != "===") return comparison.version.IsPrerelease();
  const std::optional<Version> version = Version::Parse(comparison.text);
  return version && version->IsPrerelease();
}

// The versions that satisfy some comparisons lie in intervals, each of which starts at, or right
// after, a version of a comparison, or at the lowest version of all. These are the candidates for
// being in one, for a comparison with `version`; `longest`: no release has more parts.
std::vector<Version> Starts(const Parsed& comparison, size_t longest) {
  const Version& version = comparison.version;
  std::vector<Version> starts;
  if (comparison.wildcard) {
    Version first = version;
    first.dev = Digits{};
    starts.push_back(first);
    first.release.back() = first.release.back().Next();
    starts.push_back(first);
    return starts;
  }
  starts.push_back(version);
  Version after = WithoutLocal(version);
  if (version.dev) {
    after.dev = version.dev->Next();
  } else {
    after.post = version.post ? version.post->Next() : Digits{};
    after.dev = Digits{};
  }
  starts.push_back(after);
  if (!version.local.empty()) {
    // Another local version, which no comparison names.
    after = version;
    after.local.push_back(std::string(2000, 'z'));
    starts.push_back(after);
  }
  if (!version.post && !version.dev) {
    // After all of its post-releases.
    after = WithoutLocal(version);
    after.dev = Digits{};
    if (version.pre) {
      after.pre->number = after.pre->number.Next();
    } else {
      after.release.resize(longest);
      after.release.push_back({"1"});
    }
    starts.push_back(after);
  }
  return starts;
}

// Whether the very text that a `===` names, the only one it takes, satisfies all comparisons. It
// need not be a version where nothing else compares it.
bool AllowsText(const std::string& text, const std::vector<Parsed>& comparisons) {
  const std::optional<Version> version = Version::Parse(text);
  return std::all_of(comparisons.begin(), comparisons.end(), [&](const Parsed& one) {
    return one.op == "===" ? one.text == text : version && SatisfiesOne(*version, one);
  });
}

}  // namespace

bool Satisfies(const Version& version, const std::vector<Comparison>& comparisons) {
  return SatisfiesAll(version, Parse(comparisons));
}

bool Unsatisfiable(const std::vector<Comparison>& comparisons) {
  const std::vector<Parsed> all = Parse(comparisons);
  std::vector<Version> starts;
  size_t longest = 1;
  for (const Parsed& one : all) longest = std::max(longest, one.version.release.size());
  starts.push_back(*Version::Parse("0.dev0"));
  for (const Parsed& one : all) {
    if (one.op == "===") return !AllowsText(one.text, all);
    std::vector<Version> more = Starts(one, longest);
    std::move(more.begin(), more.end(), std::back_inserter(starts));
  }
  return std::none_of(starts.begin(), starts.end(),
                      [&](const Version& version) { return SatisfiesAll(version, all); });
}

std::optional<size_t> PickVersion(const std::vector<std::string>& names,
                                  const std::vector<Comparison>& comparisons) {
  const std::vector<Parsed> all = Parse(comparisons);
  const bool wants_prereleases = std::any_of(all.begin(), all.end(), NamesPrerelease);
  // Of equal versions the first one's text counts for `===`, and the last one's name is taken.
  std::map<Version, size_t> versions;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!names[i].starts_with('v')) continue;
    const std::optional<Version> version = Version::Parse(std::string_view(names[i]).substr(1));
    if (version) versions[*version] = i;
  }
  std::optional<size_t> best, best_final;
  for (const auto& [version, place] : versions) {
    if (!SatisfiesAll(version, all)) continue;
    best = place;
    if (!version.IsPrerelease()) best_final = place;
  }
  return best_final && !wants_prereleases ? best_final : best;
}

}  // namespace kernelmap
