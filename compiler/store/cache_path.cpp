#include "compiler/store/cache_path.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

namespace kernelmap {
namespace {

const char* NotEmpty(const char* value) { return value && *value ? value : nullptr; }

// The home folder of a user, "" being the one who asks; null where there is none.
const char* HomeOf(const std::string& user, const GetEnv& get_env) {
  const char* home = user.empty() ? NotEmpty(get_env("HOME")) : nullptr;
  if (home) return home;
  const passwd* entry = user.empty() ? getpwuid(getuid()) : getpwnam(user.c_str());
  return entry ? NotEmpty(entry->pw_dir) : nullptr;
}

}  // namespace

std::optional<std::string> ExpandPath(std::string text, const GetEnv& get_env) {
  if (text.starts_with('~')) {
    const size_t end = std::min(text.find('/'), text.size());
    const std::string user = text.substr(1, end - 1);
    const char* home = HomeOf(user, get_env);
    if (!home && user.empty()) return std::nullopt;
    if (home) {
      std::string folder = home;
      while (folder.ends_with('/')) folder.pop_back();
      text = folder + text.substr(end);
      if (text.empty()) text = "/";
    }
  }
  std::string expanded;
  for (size_t i = 0; i < text.size();) {
    const bool braces = text[i] == '$' && i + 1 < text.size() && text[i + 1] == '{';
    size_t begin = i + (braces ? 2 : 1), end = begin;
    if (text[i] == '$') {
      while (end < text.size() &&
             (text[end] == '_' || std::isalnum(static_cast<unsigned char>(text[end])))) {
        ++end;
      }
    }
    const bool whole =
        end > begin && text[i] == '$' && (!braces || (end < text.size() && text[end] == '}'));
    const char* value = whole ? get_env(text.substr(begin, end - begin).c_str()) : nullptr;
    if (value) {
      expanded += value;
      i = end + (braces ? 1 : 0);
    } else {
      expanded += text[i++];
    }
  }
  return expanded;
}

std::optional<std::string> HuggingFaceHome(const GetEnv& get_env) {
  if (const char* value = NotEmpty(get_env("HF_HOME"))) return ExpandPath(value, get_env);
  if (const char* value = NotEmpty(get_env("XDG_CACHE_HOME"))) {
    const auto folder = ExpandPath(value, get_env);
    return folder ? std::optional(*folder + "/huggingface") : std::nullopt;
  }
  return ExpandPath("~/.cache/huggingface", get_env);
}

std::optional<std::string> CacheFolder(const GetEnv& get_env, std::string* from) {
  std::string ignored;
  std::string& decided = from ? *from : ignored;
  for (const char* name : {"KERNELS_CACHE", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    const char* value = NotEmpty(get_env(name));
    if (!value) continue;
    decided = name;
    return decided == "KERNELS_CACHE" ? std::optional<std::string>(value)
                                      : ExpandPath(value, get_env);
  }
  for (const char* name : {"HF_HOME", "XDG_CACHE_HOME"}) {
    if (decided.empty() && NotEmpty(get_env(name))) decided = name;
  }
  const auto home = HuggingFaceHome(get_env);
  return home ? std::optional(*home + "/hub") : std::nullopt;
}

}  // namespace kernelmap
