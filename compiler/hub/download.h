// Downloads blobs of one commit into the cache, several at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/hub/api.h"
#include "compiler/hub/cache_writer.h"

namespace kernelmap {

/// What a terminal shows while files come.
struct Progress {
  std::atomic<uint64_t> bytes = 0, files = 0;
  std::atomic<uint64_t> all_bytes = 0, all_files = 0;
};

/// Called now and then while a download runs, from the thread that waits for it.
using ShowProgress = std::function<void(const Progress& progress)>;

struct Downloads {
  std::vector<bool> fetched;     // of each file: whether its bytes came from the server now
  std::optional<Reason> reason;  // the first failure, when there is one
};

/// Downloads the blob of each file, unless it is there. A
/// download that was cut off goes on where it stopped. What comes must have the size and the digest
/// that the list of files says, or nothing of it stays. Several processes may do this at once. The
/// first failure ends all.
Downloads DownloadBlobs(const HubSettings& settings, const CacheWriter& writer,
                        const std::string& repo, const std::string& commit,
                        const std::vector<HubFile>& files, Progress* progress,
                        const ShowProgress& show);

}  // namespace kernelmap
