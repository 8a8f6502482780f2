// URLs, which libcurl takes apart: what is compared is what is asked for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kernelmap {

/// Scheme, host and port of a URL: whom a token is for. The host is in lower case.
struct Origin {
  std::string scheme, host, port;
  friend bool operator==(const Origin&, const Origin&) = default;
};

/// Whether libcurl is there. Without it there are no URLs and no answers.
bool HasHttp();

/// Nothing where the text is no http or https URL, or names a user.
std::optional<Origin> OriginOf(const std::string& url);

/// Where a URL of an answer leads, which may be relative to the URL `from` that was asked for.
/// Nothing, and why, to follow "leads", where it is not followed: anything but http and https, and
/// http from https.
std::string Follow(const std::string& from, const std::string& to, std::string* why);

/// Whether the path of a URL, which is of the same origin as `endpoint`, is that of something of
/// `publisher`: the first name after /kernels/, /models/ and the like, or else its first part.
/// False too where it is not plain who that is: escaped `..`, backslashes.
bool NamesPublisher(const std::string& url, const std::string& endpoint,
                    const std::string& publisher);

/// Text as part of a path of a URL; slashes stay where `slashes` says so.
std::string UrlEncode(std::string_view text, bool slashes);

/// The host and port of a proxy, as the environment names it, without user and password; "" where
/// the text is no such URL.
std::string HostOfProxy(const std::string& text);

}  // namespace kernelmap
