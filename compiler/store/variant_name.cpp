#include "compiler/store/variant_name.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace kernelmap {
namespace {

// What a backend with a version is called in a variant.
struct VersionedBackend {
  std::string_view name, prefix;
};
constexpr VersionedBackend kVersioned[] = {
    {"cuda", "cu"}, {"rocm", "rocm"}, {"xpu", "xpu"}, {"cann", "cann"}};
constexpr std::string_view kPlain[] = {"cpu", "metal", "neuron", "tpu"};

bool AllDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

Version TwoNumbers(std::string_view major, std::string_view minor) {
  Version version;
  version.release = {Digits::Of(major), Digits::Of(minor)};
  return version;
}

// "cu1210" is 121.0: the last digit is the minor.
std::optional<VariantBackend> ParseBackend(std::string_view text) {
  for (const std::string_view plain : kPlain) {
    if (text == plain) return VariantBackend{std::string(text), std::nullopt};
  }
  for (const VersionedBackend& backend : kVersioned) {
    if (!text.starts_with(backend.prefix)) continue;
    const std::string_view digits = text.substr(backend.prefix.size());
    if (digits.size() < 2 || !AllDigits(digits)) return std::nullopt;
    return VariantBackend{std::string(backend.name), TwoNumbers(digits.substr(0, digits.size() - 1),
                                                                digits.substr(digits.size() - 1))};
  }
  return std::nullopt;
}

// "torch213": the first digit is the major, the rest the minor.
std::optional<Version> ParseFramework(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  if (text.size() < 2 || !AllDigits(text)) return std::nullopt;
  return TwoNumbers(text.substr(0, 1), text.substr(1));
}

std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const size_t dash = std::min(text.find('-'), text.size());
    parts.emplace_back(text.substr(0, dash));
    if (dash == text.size()) return parts;
    text.remove_prefix(dash + 1);
  }
}

}  // namespace

Digits MajorOf(const Version& version) {
  return version.release.empty() ? Digits{} : version.release[0];
}

Digits MinorOf(const Version& version) {
  return version.release.size() < 2 ? Digits{} : version.release[1];
}

std::string VariantBackend::Text() const {
  for (const VersionedBackend& backend : kVersioned) {
    if (name != backend.name) continue;
    return std::string(backend.prefix) +
           (version ? MajorOf(*version).text + MinorOf(*version).text : "");
  }
  return name;
}

VariantBackend ReadBackend(std::string_view text) {
  const size_t space = std::min(text.find(' '), text.size());
  VariantBackend backend;
  backend.name = text.substr(0, space);
  if (space < text.size()) backend.version = Version::Parse(text.substr(space + 1));
  return backend;
}

std::optional<VariantName> VariantName::Parse(std::string_view text) {
  const std::vector<std::string> parts = Split(text);
  VariantName name;
  std::optional<Version> version;
  size_t arch = 0;  // where backend, arch and os start
  if (text.starts_with("torch-stable-abi")) {
    name.framework = Framework::kTorchStableAbi;
    version = ParseFramework(parts[2], "abi");
    arch = 3;
  } else if (parts[0] == "torch") {
    name.framework = Framework::kTorchNoarch;
    name.noarch = text.substr(std::min(text.size(), std::string_view("torch-").size()));
    return name;
  } else if (parts[0].starts_with("torch")) {
    version = ParseFramework(parts[0], "torch");
    arch = 1;
    if (parts.size() > 1 && (parts[1] == "cxx11" || parts[1] == "cxx98")) {
      name.cxx11_abi = parts[1] == "cxx11";
      arch = 2;
    }
  } else if (parts[0] == "tvm" && parts.size() > 1) {
    name.framework = Framework::kTvmFfi;
    version = ParseFramework(parts[1], "ffi");
    arch = 2;
  }
  if (!version || parts.size() != arch + 3) return std::nullopt;
  const std::optional<VariantBackend> backend = ParseBackend(parts[arch]);
  if (!backend) return std::nullopt;
  name.version = *version;
  name.backend = *backend;
  name.arch = parts[arch + 1];
  name.os = parts[arch + 2];
  return name;
}

std::string VariantName::Text() const {
  if (framework == Framework::kTorchNoarch) return "torch-" + noarch;
  std::string text = "torch";
  if (framework == Framework::kTorchStableAbi) text = "torch-stable-abi";
  if (framework == Framework::kTvmFfi) text = "tvm-ffi";
  text += MajorOf(version).text + MinorOf(version).text;
  if (cxx11_abi) text += *cxx11_abi ? "-cxx11" : "-cxx98";
  return text + "-" + backend.Text() + "-" + arch + "-" + os;
}

}  // namespace kernelmap
