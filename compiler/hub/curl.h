// libcurl, loaded when the first request is made: it and the thirty libraries behind it would
// double the time that every other command takes to start.
#pragma once

#include <curl/curl.h>

namespace kernelmap {

/// The functions that are used; see libcurl's own pages.
struct Curl {
  decltype(&curl_global_init) global_init;
  decltype(&curl_free) free;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_reset) easy_reset;
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_getinfo) easy_getinfo;
  decltype(&curl_easy_perform) easy_perform;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
  decltype(&curl_url) url;
  decltype(&curl_url_set) url_set;
  decltype(&curl_url_get) url_get;
  decltype(&curl_url_cleanup) url_cleanup;
};

/// Null where the library is not installed or too old.
const Curl* LoadCurl();

}  // namespace kernelmap
