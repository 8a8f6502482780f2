#include "compiler/version.h"

#include <re2/re2.h>

namespace kernelmap {
namespace {

re2::StringPiece Piece(std::string_view text) { return {text.data(), text.size()}; }

// PEP 440, appendix B, without the local part.
constexpr char kPublic[] = R"((?i)v?(?:[0-9]+!)?[0-9]+(?:\.[0-9]+)*)"
                           R"((?:[-_.]?(?:alpha|a|beta|b|preview|pre|c|rc)[-_.]?[0-9]*)?)"
                           R"((?:-[0-9]+|[-_.]?(?:post|rev|r)[-_.]?[0-9]*)?)"
                           R"((?:[-_.]?dev[-_.]?[0-9]*)?)";

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
