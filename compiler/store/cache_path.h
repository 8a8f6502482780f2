// Where the Hugging Face cache is, from the environment variables that the Python libraries read.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace kernelmap {

using GetEnv = std::function<const char*(const char*)>;

/// What is said where a `~` stands for nothing.
constexpr const char* kNoHome =
    "there is no home folder: HOME is not set, and the system knows none of this user";
constexpr const char* kNoHomeHelp = "set HF_HOME, or HF_HUB_CACHE to the folder of the cache";

/// `~` and `~user` at the start, then $NAME and ${NAME}, as Python's expanduser and expandvars; an
/// empty HOME counts as unset. What is not set, or no user, stays as it is written. Nothing where
/// `~` is this user's and there is no home folder: see kNoHome.
std::optional<std::string> ExpandPath(std::string text, const GetEnv& get_env);

/// HF_HOME, XDG_CACHE_HOME/huggingface or ~/.cache/huggingface.
std::optional<std::string> HuggingFaceHome(const GetEnv& get_env);

/// The folder of the cache, as the Python libraries find it: KERNELS_CACHE, HF_HUB_CACHE,
/// HUGGINGFACE_HUB_CACHE, HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub, ~/.cache/huggingface/hub.
/// Empty variables count as unset. In all but the first, `~` and `$NAME` are expanded.
/// `from`, which may be null, gets the variable that decided: "HF_HOME"; "" of the last.
std::optional<std::string> CacheFolder(const GetEnv& get_env, std::string* from = nullptr);

}  // namespace kernelmap
