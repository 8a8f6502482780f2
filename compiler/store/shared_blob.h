// Blobs that all repositories of a cache share. Newer Python libraries keep large files in
// `blobs/12/1234…` of the cache itself, and in a repository's `blobs/` a link to that.
#pragma once

#include <string_view>

#include "compiler/store/folder.h"

namespace kernelmap {

/// The file that a link in a repository's `blobs/` leads to, opened for reading, where its text is
/// as those libraries write it, and on the way from the cache's folder there are no other links. It
/// may be anything: a pipe is not waited for. No descriptor where it is not so.
Descriptor OpenSharedBlob(const Descriptor& cache, std::string_view link);

}  // namespace kernelmap
