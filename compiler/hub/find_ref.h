// Which ref and commit of a repository on the Hub a revision means.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/hub/api.h"
#include "compiler/languages.h"

namespace kernelmap {

/// The refs of repositories that were asked for: the Hub is asked once.
using KnownRefs = std::map<std::string, std::vector<HubRef>>;

struct RefRequest {
  const std::string& repo;
  const std::string& revision;
  const std::vector<Comparison>& comparisons;  // of specifiers; empty: `revision` is a ref
  std::string locked;                          // the commit that a lock says; "" without one
};

/// The commit, and the ref that the store will look for. No name where the revision is a commit.
/// Of a locked commit the ref is one that means it on the Hub still, where there is one.
/// `not_on_hub`, `bad_ref` and the reasons of requests where there is none.
std::optional<HubRef> FindHubRef(HttpClient* http, const HubSettings& settings, KnownRefs* known,
                                 const RefRequest& request, Reason* reason);

}  // namespace kernelmap
