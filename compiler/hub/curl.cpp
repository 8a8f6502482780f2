#include "compiler/hub/curl.h"

#include <dlfcn.h>

namespace kernelmap {
namespace {

// The name of version 4 of its interface, which all of 7.16 to 8 have.
constexpr const char* kNames[] = {"libcurl.so.4", "libcurl.4.dylib"};

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

bool Load(Curl* curl) {
  void* library = nullptr;
  for (const char* name : kNames) {
    if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  return library && Find(library, "curl_global_init", &curl->global_init) &&
         Find(library, "curl_free", &curl->free) &&
         Find(library, "curl_easy_init", &curl->easy_init) &&
         Find(library, "curl_easy_reset", &curl->easy_reset) &&
         Find(library, "curl_easy_cleanup", &curl->easy_cleanup) &&
         Find(library, "curl_easy_setopt", &curl->easy_setopt) &&
         Find(library, "curl_easy_getinfo", &curl->easy_getinfo) &&
         Find(library, "curl_easy_perform", &curl->easy_perform) &&
         Find(library, "curl_easy_strerror", &curl->easy_strerror) &&
         Find(library, "curl_slist_append", &curl->slist_append) &&
         Find(library, "curl_slist_free_all", &curl->slist_free_all) &&
         Find(library, "curl_url", &curl->url) && Find(library, "curl_url_set", &curl->url_set) &&
         Find(library, "curl_url_get", &curl->url_get) &&
         Find(library, "curl_url_cleanup", &curl->url_cleanup) &&
         curl->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

}  // namespace

const Curl* LoadCurl() {
  static Curl curl{};
  static const bool loaded = Load(&curl);
  return loaded ? &curl : nullptr;
}

}  // namespace kernelmap
