// What to do about each reason why a kernel did not come, or cannot be used.
#include <map>

#include "compiler/hub/fetch_config.h"

namespace kernelmap {

std::string FetchHelp(const Reason& reason) {
  static const std::map<std::string, std::string> help = {
      {"offline", "HF_HUB_OFFLINE and TRANSFORMERS_OFFLINE turn the Hub off: unset them"},
      {"unauthorized", "set HF_TOKEN to a token that may read the repository, or look at its name"},
      {"forbidden", "the token in HF_TOKEN needs the permission to read the repository"},
      {"gated", "ask for access on the repository's page, then set HF_TOKEN to your token"},
      {"not_on_hub", "look at the name of the repository and at its branches and tags"},
      {"rate_limited", "wait, or set HF_TOKEN: the Hub takes more requests with a token"},
      {"server_error", "try again later: what came so far is not fetched again"},
      {"no_connection",
       "look at HF_ENDPOINT, HTTPS_PROXY and the network: what came so far is not fetched again"},
      {"bad_response", "look at HF_ENDPOINT: it must be a Hugging Face Hub"},
      {"wrong_content", "try again: nothing of it was kept"},
      {"busy",
       "wait for the other process, or end it where it hangs: `lsof` on the folder `.locks` of the "
       "cache says which it is"},
      {"cannot_write", "look at HF_HOME and HF_HUB_CACHE, and at the disk's free room"},
      {"not_locked", "kernelmap lock writes the file anew"},
      {"not_trusted",
       "add the publisher to `trusted_publishers`, or write `trust_remote_code = true` beside it"},
      {"disabled", "unset USE_HUB_KERNELS, or set it to 1"},
      {"not_found", "look at the revision: the Hub has the repository, but not this"},
      {"bad_ref",
       "name a branch, tag or version of the repository; a damaged ref of the cache can be deleted "
       "and comes again"},
      {"bad_redirect", "tell its publisher, or name the repository that has the kernel now"},
      {"no_variant",
       "name another version of the kernel, or a target that it has a build for: `--torch`, "
       "`--cuda`, `--capability`"},
      {"dependency",
       "see what is said of the kernel that it needs; its publisher must be trusted too"},
      {"no_metadata",
       "tell its publisher: the build is not from kernel-builder; or name another version"},
      {"bad_metadata", "tell its publisher, or name another version of the kernel"},
      {"tampered", "do not use it: tell its publisher, or name another version of the kernel"},
      {"incomplete",
       "tell its publisher, or name another version: the Hub itself lacks these files"},
      {"truncated",
       "tell its publisher, or name another version: the file is so on the Hub itself"},
      {"unsafe_path",
       "look at what is in the cache's folder of the repository and delete the link or file in the "
       "way; where the Hub lists such a path, do not use the repository"},
      {"too_many_files", "do not use it: no kernel is as large; name another version"},
      {"python_only", "nothing is wrong with it, but archives without Python cannot use it"},
      {"no_implementation", "look at the name behind the colon: the kernel has others"},
  };
  if (reason.code == "not_trusted" && reason.text.ends_with("the policy of this machine")) {
    return "KERNELMAP_POLICY names the policy: its `trusted_publishers` is the upper bound of trust "
           "here, whatever a config says";
  }
  const auto found = help.find(reason.code);
  return found == help.end() ? "" : found->second;
}

}  // namespace kernelmap
