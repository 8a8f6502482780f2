// What processes that were killed left in a repository's `blobs/`.
#pragma once

#include <string>
#include <string_view>

#include "compiler/store/folder.h"

namespace kernelmap {

/// Names of what is made beside the blobs until it gets its place; each is its own.
std::string NewBuildName();                          // a folder
std::string NewRefName();                            // a file
std::string NewLinkName(const std::string& digest);  // a symbolic link

/// Whoever makes such a folder or file holds this lock on it. No matter where there are no locks.
void Hold(const Descriptor& made);

/// Removes what has such a name, is this user's, was not touched for an hour and is held by nobody.
/// Nothing else: `.incomplete` files are to be gone on with.
void SweepBlobs(const Descriptor& blobs);

}  // namespace kernelmap
