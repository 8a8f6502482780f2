// Folders of a Hugging Face cache that is written: opened below one another, never through a link.
#pragma once

#include <string>
#include <string_view>

#include "compiler/report.h"
#include "compiler/store/folder.h"

namespace kernelmap {

/// `cannot_write`, or `unsafe_path` where a link is in the way: of errno.
Reason CannotWrite(const std::string& what);

/// The folder `name`; no descriptor where it is none, or a link.
Descriptor OpenFolder(const Descriptor& at, const std::string& name);

/// The folder at `path`, made where it is not there; `from` itself for "".
Descriptor MakeFolder(const Descriptor& from, std::string_view path, Reason* reason);

/// Why a folder can be no cache, to follow its name: what is there is no folder, or it is not there
/// and cannot be made. "" otherwise. Makes nothing.
std::string CacheProblem(const std::string& cache);

/// Removes a folder that this process made, of links and folders.
void RemoveFolder(const Descriptor& parent, const std::string& name);

/// The last part of a path.
std::string LeafOf(const std::string& path);

/// Eight hexadecimal digits, for names that no other process has.
std::string RandomName();

}  // namespace kernelmap
