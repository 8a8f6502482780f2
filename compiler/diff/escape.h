// Text of an input inside HTML and Markdown. All of it is shown, none of it is markup.
#pragma once

#include <string>
#include <string_view>

namespace kernelmap {

/// Printable, with `& < > " '` as entities: for elements and for quoted attributes.
std::string HtmlText(std::string_view text);

/// Printable and in a code span, so that it is no link, mention, emphasis or cell border, also
/// inside a table. Cut after `kMaxMarkdownText` bytes.
std::string MarkdownCode(std::string_view text);
inline constexpr size_t kMaxMarkdownText = 300;

}  // namespace kernelmap
