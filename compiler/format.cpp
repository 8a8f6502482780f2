#include "compiler/format.h"

#include <fmt/args.h>
#include <fmt/format.h>

namespace kernelmap {

std::string FormatText(std::string_view pattern, const std::vector<std::string>& args) {
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  for (const std::string& arg : args) store.push_back(std::string_view(arg));
  return fmt::vformat(pattern, store);
}

}  // namespace kernelmap
