#include "compiler/hub/api.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "compiler/document.h"
#include "compiler/languages.h"
#include "compiler/store/cache.h"
#include "compiler/store/folder.h"

namespace kernelmap {
namespace {

constexpr size_t kMaxRefs = 10000;
constexpr size_t kMaxFiles = 100000;
constexpr int kMaxPages = 200;
constexpr size_t kMaxPath = 1024, kMaxName = 255;
constexpr size_t kMaxFolders = 20;

bool IsHex(std::string_view text, size_t length) {
  return text.size() == length &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string TextOf(const Node& table, std::string_view key) {
  const Member* member = table.Find(key);
  return member && member->value.Is(Node::Kind::kString) ? member->value.text : "";
}

std::optional<uint64_t> SizeOf(const Node& table) {
  const Member* member = table.Find("size");
  if (!member || !member->value.Is(Node::Kind::kInteger) || member->value.integer < 0) {
    return std::nullopt;
  }
  return static_cast<uint64_t>(member->value.integer);
}

Reason NotUnderstood(const std::string& repo, const std::string& what) {
  return {"bad_response", "the Hub's answer on " + what + " of `" + repo + "` is not understood",
          ""};
}

std::optional<Node> GetJson(HttpClient* http, const std::string& url, const std::string& repo,
                            const std::string& what, std::string* next, Reason* reason) {
  HttpRequest request;
  request.url = url;
  request.limit = kMaxFileBytes;
  request.whole_time = true;
  request.publisher = repo.substr(0, repo.find('/'));
  HttpAnswer answer = http->GetPatiently(request);
  if (answer.problem != HttpAnswer::Problem::kNone || answer.status != 200) {
    *reason = HubFailure(answer, repo, what);
    return std::nullopt;
  }
  if (next) *next = answer.next;
  Diagnostics diagnostics(std::make_shared<Source>("answer.json", std::move(answer.body)));
  std::optional<Node> root = ReadDocument(Syntax::kJson, &diagnostics);
  if (!root || diagnostics.errors() > 0) {
    *reason = NotUnderstood(repo, what);
    return std::nullopt;
  }
  return root;
}

std::string ApiUrl(const HubSettings& settings, const std::string& repo, const std::string& rest) {
  return settings.endpoint + "/api/kernels/" + UrlEncode(repo, true) + rest;
}

// The next page of a list, which stays with the Hub and the publisher, and was not `seen`. "", and
// why, to follow "leads", where it is not to be asked for.
std::string NextPage(const HubSettings& settings, const std::string& repo, const std::string& page,
                     const std::string& link, std::set<std::string>* seen, std::string* why) {
  std::string next = Follow(page, link, why);
  if (next.empty()) return "";
  if (OriginOf(next) != OriginOf(settings.endpoint)) {
    *why = "to another server";
  } else if (!NamesPublisher(next, settings.endpoint, repo.substr(0, repo.find('/')))) {
    *why = "to something of another publisher";
  } else if (!seen->insert(next).second) {
    *why = "in a circle";
  }
  return why->empty() ? next : "";
}

// A file of a list; false where the entry is not understood.
bool ReadFile(const Node& entry, HubFile* file) {
  file->path = TextOf(entry, "path");
  file->digest = TextOf(entry, "oid");
  std::optional<uint64_t> size = SizeOf(entry);
  const Member* lfs = entry.Find("lfs");
  if (lfs && lfs->value.Is(Node::Kind::kTable)) {
    file->digest = TextOf(lfs->value, "oid");
    if (file->digest.starts_with("sha256:")) file->digest.erase(0, 7);
    size = SizeOf(lfs->value);
    if (!IsHex(file->digest, 64)) return false;
  } else if (!IsHex(file->digest, 40)) {
    return false;
  }
  file->size = size.value_or(0);
  return size.has_value();
}

}  // namespace

bool IsSafePath(const std::string& path) {
  if (path.empty() || path.size() > kMaxPath) return false;
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (std::any_of(path.begin(), path.end(), control)) return false;
  std::string_view rest = path;
  for (size_t folders = 0; folders < kMaxFolders; ++folders) {
    const size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view part = rest.substr(0, slash);
    if (part.empty() || part == "." || part == ".." || part.size() > kMaxName) return false;
    if (slash == rest.size()) return true;
    rest.remove_prefix(slash + 1);
  }
  return false;
}

std::optional<std::vector<HubRef>> HubRefs(HttpClient* http, const HubSettings& settings,
                                           const std::string& repo, Reason* reason) {
  const std::string what = "the refs";
  const auto root = GetJson(http, ApiUrl(settings, repo, "/refs"), repo, what, nullptr, reason);
  if (!root) return std::nullopt;
  std::map<std::string, std::string> refs;
  for (const char* kind : {"branches", "tags"}) {
    const Member* list = root->Find(kind);
    if (!list || !list->value.Is(Node::Kind::kArray)) continue;
    for (const Node& item : list->value.items) {
      if (refs.size() == kMaxRefs) break;
      const std::string name = TextOf(item, "name"), commit = TextOf(item, "targetCommit");
      // Of a ref that cannot be written nothing is known; others are still of use.
      if (IsGitRef(name) && IsSafePath(name) && IsCommit(commit)) refs.emplace(name, commit);
    }
  }
  if (!root->Is(Node::Kind::kTable) || !root->Find("branches")) {
    *reason = NotUnderstood(repo, what);
    return std::nullopt;
  }
  std::vector<HubRef> list;
  for (const auto& [name, commit] : refs) list.push_back({name, commit});
  return list;
}

std::optional<std::string> HubCommit(HttpClient* http, const HubSettings& settings,
                                     const std::string& repo, const std::string& revision,
                                     Reason* reason) {
  const std::string what = "revision `" + Visible(revision) + "`";
  const auto root = GetJson(http, ApiUrl(settings, repo, "/revision/" + UrlEncode(revision, false)),
                            repo, what, nullptr, reason);
  if (!root) return std::nullopt;
  std::string commit = TextOf(*root, "sha");
  // What looks like the beginning of a commit, and is no ref, must be that of the answer.
  const bool pinned = revision.size() >= 7 && IsHex(revision, revision.size());
  if (IsCommit(commit) && (!pinned || commit.starts_with(revision))) return commit;
  *reason = NotUnderstood(repo, what);
  return std::nullopt;
}

std::optional<std::vector<HubFile>> HubTree(HttpClient* http, const HubSettings& settings,
                                            const std::string& repo, const std::string& commit,
                                            Reason* reason) {
  const std::string what = "the files";
  if (!IsCommit(commit)) {
    *reason = {"bad_ref", "`" + Visible(commit) + "` is no commit", ""};
    return std::nullopt;
  }
  const auto fail = [&](std::string code, std::string text) {
    *reason = Reason{std::move(code), std::move(text), ""};
    return std::nullopt;
  };
  std::map<std::string, HubFile> files;
  std::string url = ApiUrl(settings, repo, "/tree/" + commit + "?recursive=true&expand=false");
  std::set<std::string> seen = {url};
  for (int page = 0; !url.empty(); ++page) {
    if (page == kMaxPages) return fail("bad_response", "the Hub lists `" + repo + "` without end");
    std::string next;
    const auto root = GetJson(http, url, repo, what, &next, reason);
    if (!root) return std::nullopt;
    if (!root->Is(Node::Kind::kArray)) return *reason = NotUnderstood(repo, what), std::nullopt;
    for (const Node& entry : root->items) {
      if (!entry.Is(Node::Kind::kTable)) return *reason = NotUnderstood(repo, what), std::nullopt;
      if (TextOf(entry, "type") != "file") continue;
      HubFile file;
      if (!ReadFile(entry, &file)) return *reason = NotUnderstood(repo, what), std::nullopt;
      if (!IsSafePath(file.path)) {
        return fail("unsafe_path", "the Hub lists a file of `" + repo +
                                       "` that cannot be written: `" + Visible(file.path) + "`");
      }
      if (files.size() == kMaxFiles) {
        return fail("too_many_files", "the Hub lists too many files of `" + repo + "`");
      }
      const std::string path = file.path;
      if (!files.emplace(path, std::move(file)).second) {
        return fail("bad_response",
                    "the Hub lists `" + Visible(path) + "` of `" + repo + "` twice");
      }
    }
    std::string why;
    if (!next.empty()) next = NextPage(settings, repo, url, next, &seen, &why);
    if (!why.empty()) {
      return fail("bad_response", "the Hub's list of the files of `" + repo + "` leads " + why);
    }
    url = std::move(next);
  }
  std::vector<HubFile> list;
  for (auto& [path, file] : files) list.push_back(std::move(file));
  return list;
}

std::string HubFileUrl(const HubSettings& settings, const std::string& repo,
                       const std::string& commit, const std::string& path) {
  return settings.endpoint + "/kernels/" + UrlEncode(repo, true) + "/resolve/" + commit + "/" +
         UrlEncode(path, true);
}

Reason HubFailure(const HttpAnswer& answer, const std::string& repo, const std::string& what) {
  using Problem = HttpAnswer::Problem;
  const std::string of = what + " of `" + repo + "`";
  switch (answer.problem) {
    case Problem::kNone:
      break;
    case Problem::kNoConnection:
    case Problem::kCut:
      return {"no_connection", "the Hub was not reached for " + of + ": " + answer.text, ""};
    case Problem::kTooLarge:
    case Problem::kBadAnswer:
      return {"bad_response", "the Hub was asked for " + of + ": " + answer.text, ""};
    case Problem::kStopped:
      return {"stopped", of + " was not fetched, because something else failed", ""};
  }
  const std::string status = " (status " + std::to_string(answer.status) + ")";
  const std::string with = answer.sent_token ? "with the token that was sent" : "without a token";
  if (answer.error_code == "GatedRepo") {
    return {"gated", "`" + repo + "` is gated, and not open " + with + status, ""};
  }
  if (answer.status == 401) {
    return {"unauthorized",
            "the Hub gives nothing of `" + repo + "` " + with +
                (answer.sent_token ? "" : ": it is private, or not there") + status,
            ""};
  }
  if (answer.status == 403) {
    return {"forbidden", "the Hub does not allow " + of + " " + with + status, ""};
  }
  if (answer.status == 404 || answer.status == 410) {
    if (answer.error_code == "RepoNotFound") {
      return {"not_on_hub", "the Hub has no kernel repository `" + repo + "`" + status, ""};
    }
    return {"not_on_hub", "the Hub does not have " + of + status, ""};
  }
  if (answer.status == 429) {
    return {"rate_limited",
            "the Hub takes no more requests for now" +
                (answer.retry_after > 0
                     ? ", but again in " + std::to_string(answer.retry_after) + " seconds"
                     : "") +
                status,
            ""};
  }
  if (answer.status >= 500 || answer.status == 408) {
    return {"server_error", "the Hub failed at " + of + status, ""};
  }
  return {"bad_response", "the Hub's answer on " + of + " is not understood" + status, ""};
}

}  // namespace kernelmap
