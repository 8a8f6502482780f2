// GET requests through libcurl, which stops here. The server is not trusted: bodies, headers and
// redirects are bounded, and only http and https are spoken.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/hub/settings.h"
#include "compiler/hub/url.h"

namespace kernelmap {

struct HttpRequest {
  std::string url;
  uint64_t limit = 0;  // bytes of a body; more is refused
  uint64_t from = 0;   // where the body is to start: a Range
  /// Takes the body of a 200 or 206 piece by piece. False ends the transfer. Without it the body
  /// is in the answer.
  std::function<bool(long status, std::string_view bytes)> sink;
  /// The owner of the repository that is asked for. A redirect within the endpoint that leads to
  /// something of another owner, as after a move, is not followed: it may be less trusted.
  std::string publisher;
  bool whole_time = false;  // the transfer as a whole may take but two minutes
};

struct HttpAnswer {
  enum class Problem {
    kNone,
    kNoConnection,  // or no answer in time
    kCut,           // the body ended early, or stood still
    kTooLarge,
    kBadAnswer,  // a redirect that is not followed, or no HTTP
    kStopped     // by the sink, or because others failed
  };

  Problem problem = Problem::kNone;
  std::string text;    // of a problem, for people
  std::string silent;  // who did not answer, where it is not the server: "the proxy `host:1080`"
  long status = 0;     // 0: there was no answer
  std::string body;
  std::string error_code;     // X-Error-Code of the Hub
  std::string repo_commit;    // X-Repo-Commit
  std::string content_range;  // Content-Range
  std::string next;           // Link's rel="next", as it is
  uint64_t retry_after = 0;   // seconds
  bool sent_token = false;    // with any of the requests
};

/// For one thread. Keeps connections open from one request to the next.
class HttpClient {
 public:
  /// `stop`, which may be null, ends requests and waiting when it is set.
  HttpClient(const HubSettings& settings, const std::atomic<bool>* stop);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// One request, and the redirects that it leads to: at most ten, never from https to http, the
  /// token never to another origin than the endpoint's.
  HttpAnswer Get(const HttpRequest& request);

  /// The same, tried again where that may help: without a connection, cut off, 408, 429 or 5xx.
  /// Waits seconds, as long as Retry-After says, but not longer than a minute. Once that was in
  /// vain, later calls get the same answer at once: the server would be as silent to them.
  HttpAnswer GetPatiently(const HttpRequest& request);

  /// Whether it may help to try again.
  static bool MayRetry(const HttpAnswer& answer);
  /// Waits before the try after `tries` failed ones. False: there is to be none.
  bool Wait(const HttpAnswer& answer, int tries) const;

 private:
  bool MayAsk(const std::string& url, const std::string& publisher) const;
  struct Transfer;
  HttpAnswer GetOnce(const HttpRequest& request, const std::string& url, std::string* redirect);

  const HubSettings& settings_;
  const std::atomic<bool>* stop_;
  std::optional<Origin> endpoint_;
  std::optional<HttpAnswer> gave_up_;
  void* curl_;
};

}  // namespace kernelmap
