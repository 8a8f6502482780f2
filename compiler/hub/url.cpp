#include "compiler/hub/url.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <string_view>
#include <vector>

#include "compiler/hub/curl.h"
#include "compiler/lower.h"

namespace kernelmap {
namespace {

constexpr std::string_view kTypes[] = {"kernels", "models", "datasets", "spaces"};

struct UrlDeleter {
  void operator()(CURLU* url) const { LoadCurl()->url_cleanup(url); }
};
using Url = std::unique_ptr<CURLU, UrlDeleter>;

std::string PartOf(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (LoadCurl()->url_get(url, part, &text, flags) != CURLUE_OK || !text) return "";
  std::string copy = text;
  LoadCurl()->free(text);
  return copy;
}

Url ParseUrl(const std::string& text, const std::string& base = "") {
  if (!LoadCurl()) return nullptr;
  Url url(LoadCurl()->url());
  if (!url || text.find('\0') != std::string::npos) return nullptr;
  for (const std::string* one : {&base, &text}) {
    if (one == &base && base.empty()) continue;
    if (LoadCurl()->url_set(url.get(), CURLUPART_URL, one->c_str(), CURLU_DISALLOW_USER) !=
        CURLUE_OK) {
      return nullptr;
    }
  }
  return url;
}

std::optional<Origin> OriginOf(CURLU* url) {
  Origin origin{PartOf(url, CURLUPART_SCHEME), PartOf(url, CURLUPART_HOST),
                PartOf(url, CURLUPART_PORT, CURLU_DEFAULT_PORT)};
  if ((origin.scheme != "http" && origin.scheme != "https") || origin.host.empty()) {
    return std::nullopt;
  }
  origin.host = Lower(origin.host);
  return origin;
}

// The parts of a path as a server has them, which knows `%2F` as a slash; empty ones left out.
// Nothing where a part leads up, or one server may take another character for a slash.
std::optional<std::vector<std::string>> PathParts(CURLU* url) {
  const std::string path = PartOf(url, CURLUPART_PATH, CURLU_URLDECODE);
  // Of what cannot be decoded there is nothing: it holds control characters.
  if (path.empty() || path.find('\\') != path.npos) return std::nullopt;
  std::vector<std::string> parts;
  for (size_t at = 0; at < path.size();) {
    const size_t slash = std::min(path.find('/', at), path.size());
    const std::string part = path.substr(at, slash - at);
    if (part == "." || part == "..") return std::nullopt;
    if (!part.empty()) parts.push_back(part);
    at = slash + 1;
  }
  return parts;
}

}  // namespace

bool HasHttp() { return LoadCurl() != nullptr; }

std::optional<Origin> OriginOf(const std::string& url) {
  const Url parsed = ParseUrl(url);
  return parsed ? OriginOf(parsed.get()) : std::nullopt;
}

std::string UrlEncode(std::string_view text, bool slashes) {
  std::string encoded;
  for (const char c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if ((byte < 0x80 && std::isalnum(byte)) || c == '-' || c == '_' || c == '.' || c == '~' ||
        (slashes && c == '/')) {
      encoded += c;
    } else {
      encoded += '%';
      encoded += "0123456789ABCDEF"[byte >> 4];
      encoded += "0123456789ABCDEF"[byte & 0xF];
    }
  }
  return encoded;
}

std::string Follow(const std::string& from, const std::string& to, std::string* why) {
  const Url url = to.empty() ? nullptr : ParseUrl(to, from);
  const std::optional<Origin> target = url ? OriginOf(url.get()) : std::nullopt;
  if (!target) {
    *why = "to something other than an http or https URL";
    return "";
  }
  const std::optional<Origin> origin = OriginOf(from);
  if (origin && origin->scheme == "https" && target->scheme != "https") {
    *why = "from https to http";
    return "";
  }
  return PartOf(url.get(), CURLUPART_URL);
}

bool NamesPublisher(const std::string& url, const std::string& endpoint,
                    const std::string& publisher) {
  const Url parsed = ParseUrl(url), base = ParseUrl(endpoint);
  if (!parsed || !base) return false;
  auto parts = PathParts(parsed.get());
  const auto prefix = PathParts(base.get());
  if (!parts || !prefix) return false;
  if (parts->size() >= prefix->size() &&
      std::equal(prefix->begin(), prefix->end(), parts->begin())) {
    parts->erase(parts->begin(), parts->begin() + static_cast<ptrdiff_t>(prefix->size()));
  }
  // Behind /api/ and the like; later ones are names of files.
  const auto end = parts->begin() + static_cast<ptrdiff_t>(std::min<size_t>(parts->size(), 3));
  const auto type = std::find_if(parts->begin(), end, [](const std::string& part) {
    return std::find(std::begin(kTypes), std::end(kTypes), Lower(part)) != std::end(kTypes);
  });
  // A path without a type is that of a model: /org/name/…
  const auto owner = type == end ? parts->begin() : type + 1;
  return owner != parts->end() && *owner == publisher;
}

std::string HostOfProxy(const std::string& text) {
  if (!LoadCurl()) return "";
  const Url url(LoadCurl()->url());
  if (!url || LoadCurl()->url_set(url.get(), CURLUPART_URL, text.c_str(),
                                  CURLU_NON_SUPPORT_SCHEME | CURLU_GUESS_SCHEME) != CURLUE_OK) {
    return "";
  }
  const std::string port = PartOf(url.get(), CURLUPART_PORT);
  return PartOf(url.get(), CURLUPART_HOST) + ":" + (port.empty() ? "1080" : port);
}

}  // namespace kernelmap
