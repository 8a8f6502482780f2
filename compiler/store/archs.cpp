#include "compiler/store/archs.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace kernelmap {
namespace {

bool ReadNumber(std::string_view text, int* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && text[0] != '-';
}

std::optional<bool> CudaArchHolds(std::string_view arch, const Capability& on) {
  const bool ptx = arch.ends_with("+PTX");
  if (ptx) arch.remove_suffix(4);
  char suffix = 0;
  if (arch.ends_with('a') || arch.ends_with('f')) {
    suffix = arch.back();
    arch.remove_suffix(1);
  }
  const size_t dot = arch.find('.');
  Capability built;
  if (dot == std::string_view::npos || !ReadNumber(arch.substr(0, dot), &built.major) ||
      !ReadNumber(arch.substr(dot + 1), &built.minor)) {
    return std::nullopt;
  }
  if (suffix == 'a') return on == built;
  if (ptx && suffix == 0) return on >= built;
  return on.major == built.major && on.minor >= built.minor;
}

}  // namespace

bool CudaArchsHold(const std::vector<std::string>& archs, const Capability& capability) {
  bool known = false;
  for (const std::string& arch : archs) {
    const std::optional<bool> holds = CudaArchHolds(arch, capability);
    if (holds && *holds) return true;
    known = known || holds;
  }
  return !known;
}

bool RocmArchsHold(const std::vector<std::string>& archs, const Capability& capability) {
  const std::string prefix =
      "gfx" + std::to_string(capability.major) + std::to_string(capability.minor);
  return archs.empty() || std::any_of(archs.begin(), archs.end(), [&](const std::string& arch) {
           return arch.starts_with(prefix) && arch.size() == prefix.size() + 1;
         });
}

bool ArchsHold(const std::string& backend, const std::vector<std::string>& archs,
               const std::optional<Capability>& capability) {
  if (!capability || archs.empty()) return true;
  if (backend == "cuda") return CudaArchsHold(archs, *capability);
  return backend != "rocm" || RocmArchsHold(archs, *capability);
}

}  // namespace kernelmap
