#include "compiler/hub/download.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "compiler/hub/room.h"
#include "compiler/store/folder.h"

namespace kernelmap {
namespace {

constexpr size_t kMaxThreads = 8;
constexpr int kMaxRequests = 64;  // for one file, however often it goes on a little
constexpr int kPatience = 10;     // so many times as a transfer may stand still
constexpr std::chrono::milliseconds kShowEvery(200);

// Where a partial content starts: 5 of "bytes 5-9/10".
std::optional<uint64_t> RangeStart(const std::string& header) {
  if (!header.starts_with("bytes ")) return std::nullopt;
  uint64_t start = 0;
  size_t i = 6;
  for (; i < header.size() && header[i] >= '0' && header[i] <= '9' && i < 24; ++i) {
    start = start * 10 + static_cast<uint64_t>(header[i] - '0');
  }
  if (i == 6 || i == header.size() || header[i] != '-') return std::nullopt;
  return start;
}

// One blob, from its first byte or from where another download of it stopped.
class BlobDownload {
 public:
  BlobDownload(HttpClient* http, const CacheWriter& writer, const HubFile& file, std::string url,
               std::string repo, Progress* progress)
      : http_(http),
        writer_(writer),
        file_(file),
        url_(std::move(url)),
        repo_(std::move(repo)),
        progress_(progress) {}

  // False, and a reason.
  bool Run(bool locked, Reason* reason) {
    descriptor_ = writer_.OpenPartial(file_, locked, &name_, reason);
    if (!descriptor_) return false;
    const off_t end = lseek(descriptor_.get(), 0, SEEK_END);
    size_ = end > 0 ? static_cast<uint64_t>(end) : 0;
    bool resumed = size_ > 0;
    if (size_ > file_.size && !Restart(reason)) return false;
    while (true) {
      if (!GetAll(reason)) {
        // What is wrong, has no lock or may not be as long is nobody's to go on with.
        if (reason->code == "wrong_content" || !locked || size_ == 0 || too_long_) {
          writer_.RemovePartial(name_);
        }
        return false;
      }
      if (HasContent(descriptor_, file_)) break;
      // What another download left may be at fault: once more, from nothing.
      if (!resumed) {
        writer_.RemovePartial(name_);
        *reason = Wrong("does not have the digest that the Hub says");
        return false;
      }
      resumed = false;
      if (!Restart(reason)) return false;
    }
    return writer_.FinishPartial(descriptor_, name_, file_.digest, reason);
  }

 private:
  Reason Wrong(const std::string& what) const {
    return {"wrong_content", "`" + Visible(file_.path) + "` of `" + repo_ + "` " + what, ""};
  }

  bool Restart(Reason* reason) {
    if (ftruncate(descriptor_.get(), 0) != 0) return *reason = WriteFailed(), false;
    size_ = 0;
    return true;
  }

  Reason WriteFailed() {
    too_long_ = errno == EFBIG;
    return {"cannot_write",
            "`" + Visible(file_.path) + "` of `" + repo_ +
                "` cannot be written to the cache: " + std::strerror(errno),
            ""};
  }

  bool GetAll(Reason* reason) {
    int tries = 0;
    for (int requests = 0; size_ < file_.size; ++requests) {
      const uint64_t before = size_;
      std::optional<Reason> failure;
      const HttpAnswer answer = GetRest(&failure);
      if (failure) return *reason = *failure, false;
      const bool fine = answer.problem == HttpAnswer::Problem::kNone &&
                        (answer.status == 200 || answer.status == 206);
      if (fine && size_ < file_.size) {
        return *reason = Wrong("is smaller than the Hub says"), false;
      }
      if (fine) return true;
      if (answer.status == 416 && before > 0) {  // what is there cannot be gone on with
        if (!Restart(reason)) return false;
      } else if (!HttpClient::MayRetry(answer)) {
        return *reason = HubFailure(answer, repo_, "`" + Visible(file_.path) + "`"), false;
      }
      tries = size_ > before ? 1 : tries + 1;
      if (requests == kMaxRequests || !http_->Wait(answer, tries)) {
        return *reason = HubFailure(answer, repo_, "`" + Visible(file_.path) + "`"), false;
      }
    }
    return true;
  }

  // One request for what is missing.
  HttpAnswer GetRest(std::optional<Reason>* failure) {
    HttpRequest request;
    request.url = url_;
    request.from = size_;
    request.publisher = repo_.substr(0, repo_.find('/'));
    request.limit = file_.size + 1;
    bool first = true;
    request.sink = [&](long status, std::string_view bytes) {
      if (first && status == 200 && size_ > 0) {  // the server knows no ranges
        Reason reason;
        if (!Restart(&reason)) return *failure = reason, false;
      }
      first = false;
      if (bytes.size() > file_.size - size_) {
        *failure = Wrong("is larger than the Hub says");
        return false;
      }
      return Write(bytes, failure);
    };
    HttpAnswer answer = http_->Get(request);
    if (answer.status == 206 && !*failure && RangeStart(answer.content_range) != request.from) {
      *failure = Wrong("came from another place than was asked for");
    }
    return answer;
  }

  bool Write(std::string_view bytes, std::optional<Reason>* failure) {
    while (!bytes.empty()) {
      const ssize_t written =
          pwrite(descriptor_.get(), bytes.data(), bytes.size(), static_cast<off_t>(size_));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) {
        *failure = WriteFailed();
        return false;
      }
      bytes.remove_prefix(static_cast<size_t>(written));
      size_ += static_cast<uint64_t>(written);
      progress_->bytes += static_cast<uint64_t>(written);
    }
    return true;
  }

  HttpClient* http_;
  const CacheWriter& writer_;
  const HubFile& file_;
  const std::string url_, repo_;
  Progress* progress_;
  Descriptor descriptor_;
  std::string name_;
  uint64_t size_ = 0;      // of what is there
  bool too_long_ = false;  // for this process (ulimit -f) or the file system
};

// Files with the same content are one blob.
class Queue {
 public:
  Queue(const HubSettings& settings, const CacheWriter& writer, const std::string& repo,
        const std::string& commit, const std::vector<HubFile>& files, Progress* progress)
      : settings_(settings),
        writer_(writer),
        repo_(repo),
        commit_(commit),
        files_(files),
        progress_(progress),
        downloads_{std::vector<bool>(files.size()), std::nullopt} {
    std::map<std::string, std::vector<size_t>> blobs;
    for (size_t i = 0; i < files.size(); ++i) blobs[files[i].digest].push_back(i);
    for (auto& [digest, places] : blobs) blobs_.push_back(std::move(places));
    // The largest first, so that no thread is left with it at the end.
    std::stable_sort(blobs_.begin(), blobs_.end(), [&](const auto& a, const auto& b) {
      return files[a.front()].size > files[b.front()].size;
    });
  }

  Downloads Run(const ShowProgress& show) {
    std::vector<std::thread> threads;
    const size_t count = std::min(kMaxThreads, blobs_.size());
    running_ = count;
    try {
      while (threads.size() < count) threads.emplace_back([this] { Work(); });
    } catch (const std::system_error&) {  // no more threads: fewer do it
      const std::unique_lock lock(mutex_);
      running_ -= count - threads.size();
    }
    if (threads.empty() && count > 0) {
      running_ = 1;
      Work();
    }
    {
      std::unique_lock lock(mutex_);
      while (!done_.wait_for(lock, kShowEvery, [this] { return running_ == 0; })) {
        if (show) show(*progress_);
      }
    }
    for (std::thread& thread : threads) thread.join();
    if (show) show(*progress_);
    return std::move(downloads_);
  }

 private:
  void Work() {
    HttpClient http(settings_, &stop_);
    for (size_t i = next_++; i < blobs_.size() && !stop_; i = next_++) {
      Reason reason;
      bool fetched = false;
      const bool fine = Fetch(&http, blobs_[i], &fetched, &reason);
      const std::lock_guard lock(mutex_);
      if (fine) {
        downloads_.fetched[blobs_[i].front()] = fetched;
        if (fetched) progress_->files += blobs_[i].size();
      } else if (reason.code != "stopped" && !downloads_.reason) {
        downloads_.reason = std::move(reason);
      }
      if (!fine) stop_ = true;
    }
    const std::lock_guard lock(mutex_);
    --running_;
    done_.notify_all();
  }

  bool Fetch(HttpClient* http, const std::vector<size_t>& places, bool* fetched, Reason* reason) {
    const HubFile& file = files_[places.front()];
    for (const size_t place : places) {
      if (files_[place].size == file.size) continue;
      *reason = Reason{"bad_response",
                       "the Hub lists two sizes of one file: `" + Visible(file.path) + "`", ""};
      return false;
    }
    const auto lock = writer_.Lock(
        file.digest, kPatience * std::chrono::seconds(settings_.stall_seconds), stop_, reason);
    if (!lock) return false;
    if (writer_.HasBlob(file)) return true;
    BlobDownload download(http, writer_, file, HubFileUrl(settings_, repo_, commit_, file.path),
                          repo_, progress_);
    return *fetched = download.Run(lock->real, reason);
  }

  const HubSettings& settings_;
  const CacheWriter& writer_;
  const std::string& repo_;
  const std::string& commit_;
  const std::vector<HubFile>& files_;
  Progress* progress_;
  std::vector<std::vector<size_t>> blobs_;  // places in `files_`
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;  // of what follows
  std::condition_variable done_;
  size_t running_ = 0;
  Downloads downloads_;
};

}  // namespace

Downloads DownloadBlobs(const HubSettings& settings, const CacheWriter& writer,
                        const std::string& repo, const std::string& commit,
                        const std::vector<HubFile>& files, Progress* progress,
                        const ShowProgress& show) {
  const Room room = RoomFor(writer, files, writer.FreeBytes());
  if (!room.enough) {
    return {std::vector<bool>(files.size()),
            Reason{"cannot_write",
                   "the cache has no room for " + std::to_string(room.bytes) + " more bytes", ""}};
  }
  progress->all_bytes += room.bytes;
  progress->all_files += room.files;
  return Queue(settings, writer, repo, commit, files, progress).Run(show);
}

}  // namespace kernelmap
