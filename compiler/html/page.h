// A page of HTML by itself: nothing is loaded from elsewhere, and no other script or style than
// the page's own can run in it, whatever the names in it are (Content-Security-Policy by hash).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kernelmap {

/// `title` is text, `body` is markup. The style is page.css; with `script` page.js runs after
/// the body. A body must read well without it, and has no style or script attributes: the policy
/// forbids them.
std::string HtmlPage(std::string_view title, std::string_view body, bool script);

/// `<code>`, with the text escaped; "" for "".
std::string HtmlCode(std::string_view text);
/// Each of them, with commas between.
std::string HtmlCodes(const std::vector<std::string>& texts);

}  // namespace kernelmap
