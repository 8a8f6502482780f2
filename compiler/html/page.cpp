#include "compiler/html/page.h"

#include "compiler/diff/escape.h"
#include "compiler/embedded.h"
#include "compiler/sha256.h"

namespace kernelmap {
namespace {

// 'sha256-…', as a policy names what stands inside an element.
std::string HashOf(std::string_view text) {
  Hasher hasher;
  hasher.Add(text);
  return "'sha256-" + ToBase64(hasher.Finish()) + "'";
}

}  // namespace

std::string HtmlCode(std::string_view text) {
  return text.empty() ? "" : "<code>" + HtmlText(text) + "</code>";
}

std::string HtmlCodes(const std::vector<std::string>& texts) {
  std::string html;
  for (const std::string& text : texts) html += (html.empty() ? "" : ", ") + HtmlCode(text);
  return html;
}

std::string HtmlPage(std::string_view title, std::string_view body, bool script) {
  const std::string_view style_text = EmbeddedText("compiler/html/page.css");
  const std::string_view script_text = EmbeddedText("compiler/html/page.js");
  std::string policy = "default-src 'none'; style-src " + HashOf(style_text);
  if (script) policy += "; script-src " + HashOf(script_text);
  policy += "; base-uri 'none'; form-action 'none'";
  std::string html =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"" +
      policy + "\">\n<title>" + HtmlText(title) + "</title>\n<style>";
  html += style_text;
  html += "</style>\n</head>\n<body>\n";
  html += body;
  if (script) {
    html += "<script>";
    html += script_text;
    html += "</script>\n";
  }
  return html + "</body>\n</html>\n";
}

}  // namespace kernelmap
