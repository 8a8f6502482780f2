// What differs between two texts, line by line.
#pragma once

#include <string>
#include <string_view>

namespace kernelmap {

/// A unified diff with three lines of context; "" where the texts are the same. Of large texts that
/// differ in much it says more than the least: it is right all the same.
std::string LineDiff(const std::string& name, std::string_view before, std::string_view after);

}  // namespace kernelmap
