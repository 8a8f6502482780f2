#include "compiler/hub/find_ref.h"

#include <algorithm>
#include <utility>

#include "compiler/store/cache.h"
#include "compiler/store/folder.h"
#include "compiler/version.h"

namespace kernelmap {
namespace {

constexpr size_t kShown = 12;

bool IsVersionName(const std::string& name) {
  return name.size() > 1 && name[0] == 'v' && name.find_first_not_of("0123456789", 1) == name.npos;
}

Reason NoRef(const RefRequest& request, const std::vector<std::string>& names) {
  std::string some;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    some += (i > 0 ? ", " : "") + Visible(names[i]);
  }
  return {"not_on_hub",
          "no ref of `" + request.repo + "` on the Hub " +
              (request.comparisons.empty() ? "is `" : "satisfies `") + Visible(request.revision) +
              "`: it has " + (some.empty() ? "none" : some) +
              (names.size() > kShown ? ", ..." : ""),
          ""};
}

}  // namespace

std::optional<HubRef> FindHubRef(HttpClient* http, const HubSettings& settings, KnownRefs* known,
                                 const RefRequest& request, Reason* reason) {
  const std::string& revision = request.revision;
  if (request.comparisons.empty()) {
    if (!IsGitRef(revision) || !IsSafePath(revision)) {
      *reason = {"bad_ref", "`" + Visible(revision) + "` is no name of a ref", ""};
      return std::nullopt;
    }
    if (IsCommit(revision)) return HubRef{"", request.locked.empty() ? revision : request.locked};
  }
  // The branch may mean another commit by now, so the cache's ref is not for a lock to write.
  if (!request.locked.empty()) return HubRef{"", request.locked};
  auto place = known->find(request.repo);
  if (place == known->end()) {
    auto refs = HubRefs(http, settings, request.repo, reason);
    if (!refs) return std::nullopt;
    place = known->emplace(request.repo, std::move(*refs)).first;
  }
  const std::vector<HubRef>& refs = place->second;
  std::vector<std::string> names;
  for (const HubRef& ref : refs) names.push_back(ref.name);
  if (const auto picked = PickRef(names, revision, request.comparisons)) {
    return refs[*picked];
  }
  if (!request.comparisons.empty() || IsVersionName(revision)) {
    *reason = NoRef(request, names);
    return std::nullopt;
  }
  const auto commit = HubCommit(http, settings, request.repo, revision, reason);
  if (!commit) return std::nullopt;
  return HubRef{revision, *commit};
}

}  // namespace kernelmap
