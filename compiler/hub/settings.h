// How the Hub is reached: endpoint, token and limits, from the environment variables that the
// Python libraries read too.
#pragma once

#include <optional>
#include <string>

#include "compiler/store/cache_path.h"

namespace kernelmap {

struct HubSettings {
  std::string endpoint = "https://huggingface.co";  // without a slash at the end
  /// Sent to the endpoint alone. Nothing prints it.
  std::string token;
  std::string token_from;  // the variable or file that it, or that there is to be none, comes from
  bool offline = false;
  long stall_seconds = 30;       // a transfer that stands still for so long is cut
  long wait_milliseconds = 250;  // before a request is made again; twice as long each time
  std::string ca_file;           // certificates to trust in place of the system's
  std::string user_agent = "kernelmap";
};

/// HF_ENDPOINT; HF_TOKEN, HUGGING_FACE_HUB_TOKEN or the file HF_TOKEN_PATH, HF_HOME/token, unless
/// HF_HUB_DISABLE_IMPLICIT_TOKEN; HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE; HF_HUB_DOWNLOAD_TIMEOUT;
/// KERNELMAP_RETRY_WAIT; SSL_CERT_FILE. Nothing, and a message, where the endpoint is no http or
/// https URL, or the token has other characters than tokens have.
std::optional<HubSettings> ReadHubSettings(const GetEnv& get_env, std::string* error);

}  // namespace kernelmap
