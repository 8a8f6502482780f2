// version.json: tags or branches, and what a specifier or a whole number chooses among them.
#include "compiler/version.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "compiler/languages.h"
#include "tests/cases/cases.h"

namespace kernelmap {
namespace {

using Json = nlohmann::json;
using Names = std::vector<std::string>;

// "error:InvalidSpecifier" for what is no specifier, as Python's exception.
std::string AnswerToSpecifier(const std::string& text, const Names& tags) {
  Revision revision;
  if (!text.empty()) {
    Diagnostics diagnostics(std::make_shared<Source>("constraint", text));
    const auto parsed = ParseRevision(SubText::OfSource(*diagnostics.source()), &diagnostics);
    if (!parsed || parsed->comparisons.empty()) return "error:InvalidSpecifier";
    revision = *parsed;
  }
  const auto picked = PickVersion(tags, revision.comparisons);
  if (Unsatisfiable(revision.comparisons) && picked) return "chosen, but unsatisfiable";
  return picked ? tags[*picked] : "error:ValueError";
}

// Python's message lists the versions that there are; of an empty cache it says something else.
std::string AnswerToNumber(const Json& item, bool cache) {
  Names names = item.at("branches").get<Names>();
  if (cache) {
    const Names tags = item.at("tags").get<Names>();
    names.insert(names.end(), tags.begin(), tags.end());
  }
  const auto number = item.at("version").get<int64_t>();
  if (const auto picked = PickNumber(names, number)) return names[*picked];
  std::string list;
  for (const std::string& version : NumberedVersions(names)) {
    list += (list.empty() ? "" : ", ") + version;
  }
  return "error:ValueError: Version " + std::to_string(number) +
         (cache && list.empty() ? " of 'o/r' is not available in the local cache"
                                : " not found, available versions: " + list);
}

std::string Run(const Json& item) {
  const std::string kind = item.at("kind");
  if (kind != "spec" && kind != "int") return "unknown kind";
  const std::string expected = item.at("expected");
  if (kind == "int") {
    const std::string source = item.at("source");
    if (source != "hub" && source != "cache") return "unknown source";
    const std::string answer = AnswerToNumber(item, source == "cache");
    const bool same = source == "cache" ? expected.starts_with(answer) : expected == answer;
    return same ? "" : "got `" + answer + "`";
  }
  const std::string answer = AnswerToSpecifier(item.at("constraint"), item.at("tags").get<Names>());
  const bool right =
      answer == expected || answer == item.value("expected_packaging_24_2", expected);
  return right ? "" : "got `" + answer + "`";
}

}  // namespace
}  // namespace kernelmap

int main(int argc, char** argv) {
  return kernelmap::RunCases(argc, argv, {{"cases", kernelmap::Run}});
}
