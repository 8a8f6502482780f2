// What is generated from the table of commands: completions of shells, and the manual page.
#pragma once

#include <string>

namespace kernelmap {

std::string BashCompletions();
std::string ZshCompletions();
std::string FishCompletions();

/// kernelmap(1), in roff.
std::string ManualPage();

}  // namespace kernelmap
