#include "compiler/hub/settings.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>

#include "compiler/hub/http.h"
#include "compiler/store/folder.h"

namespace kernelmap {
namespace {

constexpr size_t kMaxTokenBytes = 4096;
constexpr long kMaxStallSeconds = 3600;
constexpr long kMaxWaitMilliseconds = 10000;

std::string Value(const GetEnv& get_env, const char* name) {
  const char* value = get_env(name);
  return value ? value : "";
}

bool IsTrue(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text == "1" || text == "ON" || text == "YES" || text == "TRUE";
}

// A number above 0.
std::optional<long> Number(const std::string& text) {
  long number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool fine = problem == std::errc() && end == text.data() + text.size() && number > 0;
  return fine ? std::optional(number) : std::nullopt;
}

std::string Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(kSpace) - begin + 1));
}

// The text of a regular file; "" where there is none, or it is longer than any token.
std::string ReadToken(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  char buffer[kMaxTokenBytes];
  const ssize_t got = read(file.get(), buffer, sizeof buffer);
  if (got <= 0 || got == static_cast<ssize_t>(sizeof buffer)) return "";
  return Trim({buffer, static_cast<size_t>(got)});
}

// The token, and into `from` where it was found.
std::string FindToken(const GetEnv& get_env, std::string* from) {
  const char* disable = "HF_HUB_DISABLE_IMPLICIT_TOKEN";
  if (IsTrue(Value(get_env, disable))) return *from = disable, "";
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    if (std::string token = Trim(Value(get_env, name)); !token.empty()) return *from = name, token;
  }
  std::string path = Value(get_env, "HF_TOKEN_PATH");
  if (!path.empty()) {
    path = ExpandPath(path, get_env).value_or("");
  } else if (const auto home = HuggingFaceHome(get_env)) {
    path = *home + "/token";
  }
  std::string token = path.empty() ? "" : ReadToken(path);
  if (!token.empty()) *from = path;
  return token;
}

}  // namespace

std::optional<HubSettings> ReadHubSettings(const GetEnv& get_env, std::string* error) {
  HubSettings settings;
  if (std::string endpoint = Value(get_env, "HF_ENDPOINT"); !endpoint.empty()) {
    endpoint.resize(endpoint.find_last_not_of('/') + 1);
    settings.endpoint = std::move(endpoint);
  }
  if (!HasHttp()) {
    *error = "libcurl is not installed, or too old\nhelp: install libcurl4";
    return std::nullopt;
  }
  // What is wrong with it is not shown: it may hold a password.
  if (!OriginOf(settings.endpoint) || settings.endpoint.find_first_of("?#") != std::string::npos) {
    *error = "HF_ENDPOINT is no http or https URL of a server, without a user name";
    return std::nullopt;
  }
  settings.token = FindToken(get_env, &settings.token_from);
  const auto printable = [](char c) { return c > ' ' && c < '\x7f'; };
  if (!std::all_of(settings.token.begin(), settings.token.end(), printable)) {
    *error =
        "the token has other characters than tokens have\nhelp: look at HF_TOKEN, "
        "HUGGING_FACE_HUB_TOKEN, HF_TOKEN_PATH or the file `token` in HF_HOME";
    return std::nullopt;
  }
  const std::string offline = Value(get_env, "HF_HUB_OFFLINE");
  settings.offline = IsTrue(offline.empty() ? Value(get_env, "TRANSFORMERS_OFFLINE") : offline);
  if (const auto seconds = Number(Value(get_env, "HF_HUB_DOWNLOAD_TIMEOUT"))) {
    settings.stall_seconds = std::min(*seconds, kMaxStallSeconds);
  }
  if (const auto wait = Number(Value(get_env, "KERNELMAP_RETRY_WAIT"))) {
    settings.wait_milliseconds = std::min(*wait, kMaxWaitMilliseconds);
  }
  settings.ca_file = Value(get_env, "SSL_CERT_FILE");
  struct stat status {};
  // libcurl would wait for a pipe.
  if (stat(settings.ca_file.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    *error = "SSL_CERT_FILE, `" + settings.ca_file + "`, is no file";
    return std::nullopt;
  }
  return settings;
}

}  // namespace kernelmap
