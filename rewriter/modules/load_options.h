// What a caller of kernelmap::load says of kernels that are not built in. Without a torch type.
#pragma once

#include <string>
#include <vector>

namespace kernelmap {

/// Using an op library runs its code, so what may be loaded is the caller's to say. The policy of
/// the machine (KERNELMAP_POLICY) limits it further, and USE_HUB_KERNELS may turn Hub kernels off.
struct LoadOptions {
  std::vector<std::string> trusted_publishers = {"kernels-community"};
  bool allow_all_kernels = false;  // any publisher
  /// Folders of kernels that are not of the Hub. Those that the archive wants are known by their
  /// content; a folder that is named here is trusted.
  std::vector<std::string> local_kernels;
  std::string cache;  // of Hugging Face; "": as the environment says (HF_HOME, HF_HUB_CACHE)
  /// For a kernel that cannot be had: an error, or the stock code it stands for, with a warning.
  enum class OnMissing { kError, kStock } on_missing = OnMissing::kError;
};

}  // namespace kernelmap
