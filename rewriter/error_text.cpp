#include "rewriter/error_text.h"

#include <c10/util/Exception.h>

#include <string_view>

namespace kernelmap {
namespace {

std::string LineAt(const std::string& text, size_t start) {
  return start == std::string::npos ? "" : text.substr(start, text.find('\n', start) - start);
}

}  // namespace

std::string FirstErrorLine(const std::exception& e) {
  const auto* error = dynamic_cast<const c10::Error*>(&e);
  const std::string text = error ? error->what_without_backtrace() : e.what();
  return LineAt(text, text.find_first_not_of(" \n"));
}

std::string LastErrorLine(const std::exception& e) {
  const std::string text = e.what();
  const size_t at = text.rfind("Error: ");
  return at == std::string::npos ? FirstErrorLine(e)
                                 : LineAt(text, at + std::string_view("Error: ").size());
}

}  // namespace kernelmap
