#include "compiler/hub/http.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "compiler/hub/curl.h"
#include "compiler/lower.h"
#include "compiler/store/folder.h"

namespace kernelmap {
namespace {

constexpr int kMaxRedirects = 10;
constexpr int kMaxTries = 5;
constexpr uint64_t kMaxWaitSeconds = 60;
constexpr size_t kMaxHeaderBytes = 1 << 18;
constexpr uint64_t kMaxErrorBytes = 1 << 16;  // of a body that nobody reads
constexpr long kConnectSeconds = 10;
constexpr long kSlowBytes = 1000;  // a second; slower for `stall_seconds` is standing still
constexpr long kWholeSeconds = 120;

std::string_view Trim(std::string_view text) {
  const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

// The URL of `<URL>; rel="next"`.
std::string NextLink(std::string_view value) {
  const size_t open = value.find('<'), close = value.find('>');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return "";
  if (value.substr(close).find("rel=\"next\"") == std::string_view::npos) return "";
  return std::string(value.substr(open + 1, close - open - 1));
}

}  // namespace

// What the callbacks of one transfer share.
struct HttpClient::Transfer {
  const HttpRequest& request;
  CURL* curl;
  const std::atomic<bool>* stop;
  HttpAnswer answer;
  std::string location;
  size_t header_bytes = 0;
  uint64_t body_bytes = 0;
  bool too_large = false, refused = false;
  std::string proxy = "";  // of the environment, where it is used

  long Status() const {
    long status = 0;
    LoadCurl()->easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
  }

  bool Header(std::string_view line) {
    header_bytes += line.size();
    if (header_bytes > kMaxHeaderBytes) return too_large = true, false;
    if (line.starts_with("HTTP/")) {  // another answer begins, as after 100 Continue
      location.clear();
      answer.error_code.clear();
      answer.repo_commit.clear();
      answer.content_range.clear();
      answer.next.clear();
      return true;
    }
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return true;
    const std::string name = Lower(line.substr(0, colon));
    const std::string value(Trim(line.substr(colon + 1)));
    if (name == "location") location = value;
    if (name == "x-error-code") answer.error_code = value;
    if (name == "x-repo-commit") answer.repo_commit = value;
    if (name == "content-range") answer.content_range = value;
    if (name == "link") answer.next = NextLink(value);
    return true;
  }

  bool Body(std::string_view bytes) {
    body_bytes += bytes.size();
    const long status = Status();
    if (status == 200 || status == 206) {
      if (body_bytes > request.limit) return too_large = true, false;
      if (!request.sink) return answer.body += bytes, true;
      if (!request.sink(status, bytes)) return refused = true, false;
      return true;
    }
    // Of other answers the status says all; a long body is not waited for.
    if (body_bytes > kMaxErrorBytes) return refused = true, false;
    return true;
  }

  // libcurl says no other way which proxy it takes: "Uses proxy env variable NAME == 'URL'".
  void Said(std::string_view line) {
    constexpr std::string_view kUses = "Uses proxy env variable ";
    const size_t is = line.find(" == '"), end = line.rfind('\'');
    if (!line.starts_with(kUses) || is == line.npos || end < is + 5) return;
    const std::string name(line.substr(kUses.size(), is - kUses.size()));
    if (Lower(name) == "no_proxy") return;
    const std::string host = HostOfProxy(std::string(line.substr(is + 5, end - is - 5)));
    proxy = host.empty() ? "the proxy of " + name : "the proxy `" + Visible(host) + "`";
  }

  // Who did not answer: until the proxy has opened the way, it is the proxy.
  std::string Silent(CURLcode code) const {
    if (proxy.empty()) return "";
    curl_off_t connected = 0;
    LoadCurl()->easy_getinfo(curl, CURLINFO_CONNECT_TIME_T, &connected);
    const bool early = code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_COULDNT_CONNECT ||
                       code == CURLE_PROXY || RefusedBy() > 0 ||
                       (code == CURLE_OPERATION_TIMEDOUT && connected == 0);
    return early ? proxy : "";
  }

  // The status with which a proxy refuses to open the way; 0 where it did not.
  long RefusedBy() const {
    long status = 0;
    LoadCurl()->easy_getinfo(curl, CURLINFO_HTTP_CONNECTCODE, &status);
    return status >= 300 ? status : 0;
  }

  static int OnDebug(CURL*, curl_infotype type, char* data, size_t size, void* self) {
    if (type == CURLINFO_TEXT) static_cast<Transfer*>(self)->Said({data, size});
    return 0;
  }
  static size_t OnHeader(char* data, size_t size, size_t count, void* self) {
    return static_cast<Transfer*>(self)->Header({data, size * count}) ? size * count : 0;
  }
  static size_t OnBody(char* data, size_t size, size_t count, void* self) {
    return static_cast<Transfer*>(self)->Body({data, size * count}) ? size * count : 0;
  }
  static int OnProgress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    const auto* stop = static_cast<Transfer*>(self)->stop;
    return stop && *stop ? 1 : 0;
  }
};

HttpClient::HttpClient(const HubSettings& settings, const std::atomic<bool>* stop)
    : settings_(settings), stop_(stop), endpoint_(OriginOf(settings.endpoint)) {
  curl_ = LoadCurl() ? LoadCurl()->easy_init() : nullptr;
}

HttpClient::~HttpClient() {
  if (curl_) LoadCurl()->easy_cleanup(curl_);
}

HttpAnswer HttpClient::GetOnce(const HttpRequest& request, const std::string& url,
                               std::string* redirect) {
  HttpAnswer failed;
  if (!curl_) {
    failed.problem = HttpAnswer::Problem::kNoConnection;
    failed.text = "libcurl does not start";
    return failed;
  }
  const Curl& lib = *LoadCurl();
  CURL* curl = curl_;
  lib.easy_reset(curl);
  Transfer transfer{request, curl, stop_, {}, {}};
  curl_slist* headers = lib.slist_append(nullptr, "Accept-Encoding: identity");
  if (!settings_.token.empty() && OriginOf(url) == endpoint_) {
    headers = lib.slist_append(headers, ("Authorization: Bearer " + settings_.token).c_str());
    transfer.answer.sent_token = true;
  }
  lib.easy_setopt(curl, CURLOPT_URL, url.c_str());
  lib.easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  lib.easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  lib.easy_setopt(curl, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
  lib.easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  lib.easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  lib.easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, kSlowBytes);
  lib.easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, settings_.stall_seconds);
  if (request.whole_time) lib.easy_setopt(curl, CURLOPT_TIMEOUT, kWholeSeconds);
  lib.easy_setopt(curl, CURLOPT_USERAGENT, settings_.user_agent.c_str());
  lib.easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  if (!settings_.ca_file.empty()) lib.easy_setopt(curl, CURLOPT_CAINFO, settings_.ca_file.c_str());
  const std::string range = std::to_string(request.from) + "-";
  if (request.from > 0) lib.easy_setopt(curl, CURLOPT_RANGE, range.c_str());
  lib.easy_setopt(curl, CURLOPT_HEADERFUNCTION, &Transfer::OnHeader);
  lib.easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
  lib.easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Transfer::OnBody);
  lib.easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  lib.easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  lib.easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &Transfer::OnProgress);
  lib.easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
  lib.easy_setopt(curl, CURLOPT_VERBOSE, 1L);
  lib.easy_setopt(curl, CURLOPT_DEBUGFUNCTION, &Transfer::OnDebug);
  lib.easy_setopt(curl, CURLOPT_DEBUGDATA, &transfer);
  const CURLcode code = lib.easy_perform(curl);
  lib.slist_free_all(headers);

  HttpAnswer answer = std::move(transfer.answer);
  answer.status = transfer.Status();
  curl_off_t wait = 0;
  if (lib.easy_getinfo(curl, CURLINFO_RETRY_AFTER, &wait) == CURLE_OK && wait > 0) {
    answer.retry_after = static_cast<uint64_t>(wait);
  }
  *redirect = transfer.location;
  using Problem = HttpAnswer::Problem;
  const auto problem = [&](Problem kind, std::string text) {
    answer.problem = kind;
    answer.text = std::move(text);
    return answer;
  };
  if (transfer.too_large) return problem(Problem::kTooLarge, "its answer is larger than it may be");
  if (transfer.refused && (answer.status == 200 || answer.status == 206)) {
    return problem(Problem::kStopped, "the transfer was stopped");
  }
  if (code != CURLE_OK) answer.silent = transfer.Silent(code);
  if (const long status = transfer.RefusedBy(); code != CURLE_OK && status > 0) {
    answer.status = 0;
    return problem(Problem::kNoConnection, "it answers with status " + std::to_string(status));
  }
  switch (code) {
    case CURLE_OK:
    case CURLE_WRITE_ERROR:  // a body that nobody reads
      return answer;
    case CURLE_ABORTED_BY_CALLBACK:
      return problem(Problem::kStopped, "the transfer was stopped");
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
      return problem(Problem::kCut, "the connection ended early");
    case CURLE_OPERATION_TIMEDOUT:
      return problem(answer.status > 0 ? Problem::kCut : Problem::kNoConnection,
                     "there was no answer in time");
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
      return problem(Problem::kBadAnswer, "its answer is no HTTP");
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return problem(Problem::kNoConnection, "its name is not known");
    case CURLE_COULDNT_CONNECT:
      return problem(Problem::kNoConnection, "it does not take connections");
    case CURLE_PEER_FAILED_VERIFICATION:
      return problem(Problem::kNoConnection, "its certificate is not trusted");
    default:
      return problem(answer.status > 0 ? Problem::kCut : Problem::kNoConnection,
                     Lower(lib.easy_strerror(code)));
  }
}

bool HttpClient::MayAsk(const std::string& url, const std::string& publisher) const {
  // A dot at the end of a host's name makes it another for a token, but not for what is asked.
  std::optional<Origin> to = OriginOf(url), hub = endpoint_;
  for (std::optional<Origin>* one : {&to, &hub}) {
    if (*one && (*one)->host.ends_with('.')) (*one)->host.pop_back();
  }
  return publisher.empty() || to != hub || NamesPublisher(url, settings_.endpoint, publisher);
}

HttpAnswer HttpClient::Get(const HttpRequest& request) {
  std::string url = request.url;
  bool sent_token = false;
  for (int redirects = 0;; ++redirects) {
    std::string to;
    HttpAnswer answer = GetOnce(request, url, &to);
    answer.sent_token = sent_token = sent_token || answer.sent_token;
    const std::optional<Origin> from = OriginOf(url);
    if (answer.problem != HttpAnswer::Problem::kNone) {
      const std::string host = "`" + Visible(from ? from->host : "the server") + "`";
      answer.text = (answer.silent.empty() ? host : answer.silent) + ": " + answer.text;
      return answer;
    }
    const long status = answer.status;
    if (status != 301 && status != 302 && status != 303 && status != 307 && status != 308) {
      return answer;
    }
    const auto refuse = [&](const std::string& why) {
      answer.problem = HttpAnswer::Problem::kBadAnswer;
      answer.text = "`" + Visible(from ? from->host : "the server") + "` redirects " + why;
      return answer;
    };
    if (redirects == kMaxRedirects) return refuse("on and on");
    std::string why;
    to = Follow(url, to, &why);
    if (to.empty()) return refuse(why);
    if (!MayAsk(to, request.publisher)) return refuse("to something of another publisher");
    url = std::move(to);
  }
}

bool HttpClient::MayRetry(const HttpAnswer& answer) {
  using Problem = HttpAnswer::Problem;
  if (answer.problem == Problem::kNoConnection || answer.problem == Problem::kCut) return true;
  return answer.problem == Problem::kNone &&
         (answer.status == 408 || answer.status == 429 || answer.status >= 500);
}

bool HttpClient::Wait(const HttpAnswer& answer, int tries) const {
  if (tries >= kMaxTries || answer.retry_after > kMaxWaitSeconds) return false;
  auto left = std::chrono::milliseconds(settings_.wait_milliseconds << std::min(tries - 1, 4));
  left = std::max<std::chrono::milliseconds>(
      left, std::chrono::seconds(std::min<uint64_t>(answer.retry_after, kMaxWaitSeconds)));
  constexpr std::chrono::milliseconds kStep(50);
  for (; left.count() > 0; left -= kStep) {
    if (stop_ && *stop_) return false;
    std::this_thread::sleep_for(std::min(left, kStep));
  }
  return true;
}

HttpAnswer HttpClient::GetPatiently(const HttpRequest& request) {
  if (gave_up_) return *gave_up_;
  for (int tries = 1;; ++tries) {
    HttpAnswer answer = Get(request);
    if (!MayRetry(answer)) return answer;
    if (!Wait(answer, tries)) {
      const bool away = answer.problem == HttpAnswer::Problem::kNoConnection ||
                        answer.status == 429 || (answer.status >= 502 && answer.status <= 504);
      if (away && !(stop_ && *stop_)) gave_up_ = answer;
      return answer;
    }
  }
}

}  // namespace kernelmap
