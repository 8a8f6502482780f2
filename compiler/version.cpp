#include "compiler/version.h"

#include <re2/re2.h>

#include <algorithm>

#include "compiler/lower.h"
namespace kernelmap {
namespace {

re2::StringPiece Piece(std::string_view text) { return {text.data(), text.size()}; }

// PEP 440, appendix B, without the local part.
constexpr char kPublic[] = R"((?i)v?(?:[0-9]+!)?[0-9]+(?:\.[0-9]+)*)"
                           R"((?:[-_.]?(?:alpha|a|beta|b|preview|pre|c|rc)[-_.]?[0-9]*)?)"
                           R"((?:-[0-9]+|[-_.]?(?:post|rev|r)[-_.]?[0-9]*)?)"
                           R"((?:[-_.]?dev[-_.]?[0-9]*)?)";

// PEP 440, appendix B, in groups.
constexpr char kGroups[] = R"((?i)[ \t\n\r\f\v]*v?(?:([0-9]+)!)?([0-9]+(?:\.[0-9]+)*))"
                           R"((?:[-_.]?(alpha|a|beta|b|preview|pre|c|rc)[-_.]?([0-9]*))?)"
                           R"((?:-([0-9]+)|[-_.]?(post|rev|r)[-_.]?([0-9]*))?)"
                           R"((?:[-_.]?(dev)[-_.]?([0-9]*))?)"
                           R"((?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?[ \t\n\r\f\v]*)";

int PreKind(const std::string& word) {
  const std::string lower = Lower(word);
  if (lower == "a" || lower == "alpha") return 0;
  return lower == "b" || lower == "beta" ? 1 : 2;
}

std::vector<std::string> Split(std::string_view text, std::string_view separators) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = std::min(text.find_first_of(separators), text.size());
    parts.emplace_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string VersionProblem(std::string_view op, std::string_view version) {
  static const RE2 plain(kPublic);
  static const RE2 with_local(std::string(kPublic) + R"((?:\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?)");
  static const RE2 wildcard(R"((?i)v?(?:[0-9]+!)?[0-9]+(?:\.[0-9]+)*\.\*)");
  static const RE2 two_parts(R"((?i)v?(?:[0-9]+!)?[0-9]+\.[0-9]+.*)");
  if (op == "===") return "";
  const bool equality = op == "==" || op == "!=";
  if (version.ends_with(".*") && RE2::FullMatch(Piece(version), wildcard)) {
    return equality ? "" : "`.*` goes with `==` and `!=` only";
  }
  if (!RE2::FullMatch(Piece(version), plain)) {
    if (!RE2::FullMatch(Piece(version), with_local)) return "it is not a version";
    return equality ? "" : "a local part goes with `==` and `!=` only";
  }
  if (op == "~=" && !RE2::FullMatch(Piece(version), two_parts)) {
    return "`~=` needs a version of two parts or more";
  }
  return "";
}

std::optional<Version> Version::Parse(std::string_view text) {
  static const RE2 pattern(kGroups);
  std::string epoch, release, pre, pre_number, implicit_post, post, post_number, dev, dev_number,
      local;
  if (!RE2::FullMatch(Piece(text), pattern, &epoch, &release, &pre, &pre_number, &implicit_post,
                      &post, &post_number, &dev, &dev_number, &local)) {
    return std::nullopt;
  }
  Version version;
  version.epoch = Digits::Of(epoch);
  for (const std::string& part : Split(release, ".")) version.release.push_back(Digits::Of(part));
  if (!pre.empty()) version.pre = Pre{PreKind(pre), Digits::Of(pre_number)};
  if (!implicit_post.empty()) version.post = Digits::Of(implicit_post);
  if (!post.empty()) version.post = Digits::Of(post_number);
  if (!dev.empty()) version.dev = Digits::Of(dev_number);
  if (!local.empty()) {
    for (const std::string& part : Split(Lower(local), "-_.")) {
      version.local.push_back(
          part.find_first_not_of("0123456789") == std::string::npos ? Digits::Of(part).text : part);
    }
  }
  return version;
}

std::optional<TorchVersion> ParseTorchVersion(std::string_view text) {
  static const RE2 pattern(
      R"(([0-9]{1,4}\.[0-9]{1,4})(?:\.[0-9]+)?[a-z0-9.]*(?:\+([A-Za-z0-9._-]+))?)");
  TorchVersion version;
  if (!RE2::FullMatch(Piece(text), pattern, &version.release, &version.build)) {
    return std::nullopt;
  }
  return version;
}

bool IsTwoNumbers(std::string_view text) {
  static const RE2 pattern(R"([0-9]{1,4}\.[0-9]{1,4})");
  return RE2::FullMatch(Piece(text), pattern);
}

}  // namespace kernelmap
