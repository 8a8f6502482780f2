// What the Hub says of a kernel repository: its refs, and the files of a commit. Answers are
// untrusted: they are bounded, and no name leaves the folder that it is to lie in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/hub/http.h"
#include "compiler/report.h"

namespace kernelmap {

struct HubRef {
  std::string name;    // "v1", "main"
  std::string commit;  // 40 hexadecimal digits
};

struct HubFile {
  std::string path;    // "build/torch-cuda/metadata.json"
  uint64_t size = 0;   // in bytes
  std::string digest;  // what the blob is called: SHA-256 where git has a pointer to it alone, else
                       // git's own, the SHA-1 of "blob SIZE\0" and the bytes
};

/// The refs of `repo`, branches before tags, each name once, sorted by name. Nothing, and a reason,
/// where there is no answer, or one that is not understood.
std::optional<std::vector<HubRef>> HubRefs(HttpClient* http, const HubSettings& settings,
                                           const std::string& repo, Reason* reason);

/// The commit that a revision means, also one that the list of refs does not have: "refs/pr/1", or
/// the beginning of a commit.
std::optional<std::string> HubCommit(HttpClient* http, const HubSettings& settings,
                                     const std::string& repo, const std::string& revision,
                                     Reason* reason);

/// All files of a commit, sorted by path.
std::optional<std::vector<HubFile>> HubTree(HttpClient* http, const HubSettings& settings,
                                            const std::string& repo, const std::string& commit,
                                            Reason* reason);

/// Where a file's content is.
std::string HubFileUrl(const HubSettings& settings, const std::string& repo,
                       const std::string& commit, const std::string& path);

/// The reason of an answer that is none: `no_connection`, `unauthorized`, `gated`, ... `what`: what
/// was asked for, to follow a name.
Reason HubFailure(const HttpAnswer& answer, const std::string& repo, const std::string& what);

/// Whether a path of the server may be written below a folder: no part is empty, `.` or `..`, too
/// long or begins at the root, and no character is a control character.
bool IsSafePath(const std::string& path);

}  // namespace kernelmap
