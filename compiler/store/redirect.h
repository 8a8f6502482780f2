// kernel-status.toml: a repository that says that its kernels are elsewhere.
#pragma once

#include <optional>
#include <string>

#include "compiler/plan.h"
#include "compiler/store/folder.h"

namespace kernelmap {

struct Redirect {
  std::string repo;
  std::string revision = "main";
};

/// The redirect in the text of a kernel-status.toml. Nothing, and `bad_redirect`, for one that is
/// not understood.
std::optional<Redirect> ParseRedirect(std::string text, std::optional<Reason>* reason);

/// The redirect of the snapshot at `path`. Nothing without one; nothing and a reason,
/// `bad_redirect` or `unsafe_path`, for one that is not understood.
std::optional<Redirect> ReadRedirect(const Folder& folder, const std::string& path,
                                     std::optional<Reason>* reason);

}  // namespace kernelmap
