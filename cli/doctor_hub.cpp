// The part of doctor about kernels of the Hub: the cache, how the Hub is reached, and trust.
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>

#include "cli/doctor.h"
#include "cli/output.h"
#include "compiler/hub/cache_folder.h"
#include "compiler/hub/settings.h"
#include "compiler/hub/url.h"
#include "compiler/store/cache.h"

namespace kernelmap {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLittle = uint64_t{1} << 30;  // bytes; a kernel's builds may take as many

// What is free where a folder lies, or will.
std::optional<uint64_t> FreeBytes(const std::string& folder) {
  struct statvfs status {};
  for (fs::path at = folder;; at = at.parent_path()) {
    if (at.empty()) at = ".";
    if (statvfs(at.c_str(), &status) == 0) return uint64_t{status.f_bavail} * status.f_frsize;
    if (at == "." || at == at.parent_path()) return std::nullopt;
  }
}

void FindFreeSpace(const std::string& cache, Findings* findings) {
  const std::optional<uint64_t> bytes = FreeBytes(cache);
  if (!bytes) return;
  char text[64];
  std::snprintf(text, sizeof text, "%.1f GiB free",
                static_cast<double>(*bytes) / static_cast<double>(kLittle));
  Finding& found = findings->emplace_back(Finding{"store", "space", text, "", "", ""});
  if (*bytes < kLittle) {
    found.Problem(FindingStatus::kWarning, "there is little room for kernels",
                  "free some, or set HF_HUB_CACHE to a folder elsewhere");
  }
}

// What a folder that is there holds, and whether it can be read and written.
void FindContent(const std::string& cache, Findings* findings) {
  FolderError error = FolderError::kNone;
  const std::vector<std::string> repositories = CachedRepositories(cache, &error);
  Finding& found = findings->emplace_back(
      Finding{"store", "kernels",
              std::to_string(repositories.size()) +
                  (repositories.size() == 1 ? " repository" : " repositories"),
              "", "", ""});
  if (access(cache.c_str(), R_OK | X_OK) != 0) {
    found.value = "";
    found.Problem(FindingStatus::kError, "the folder cannot be read: no kernel of the Hub is found",
                  "give this user the right to read it, or set HF_HUB_CACHE to another folder");
  } else if (access(cache.c_str(), W_OK) != 0) {
    found.Problem(FindingStatus::kWarning,
                  "the folder cannot be written: kernelmap fetch cannot put kernels there",
                  "give this user the right to write it, or set HF_HUB_CACHE to another folder");
  }
}

// The variables that libcurl reads; a proxy is shown by host and port, never with its password.
void FindProxies(const GetEnv& get_env, Findings* findings) {
  for (const char* name : {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}) {
    const std::string text = EnvText(get_env, name);
    if (text.empty()) continue;
    Finding& found =
        findings->emplace_back(Finding{"hub", "proxy", HostOfProxy(text), name, "", ""});
    if (found.value.empty()) {
      found.Problem(FindingStatus::kError, "it is no URL of a proxy",
                    std::string("set ") + name + " to one like http://host:8080, or unset it");
    }
  }
  for (const char* name : {"no_proxy", "NO_PROXY"}) {
    const std::string text = EnvText(get_env, name);
    if (!text.empty()) findings->push_back({"hub", "without proxy", text, name, "", ""});
  }
}

void FindCertificates(const GetEnv& get_env, Findings* findings) {
  const std::string path = EnvText(get_env, "SSL_CERT_FILE");
  if (path.empty()) return;
  Finding& found =
      findings->emplace_back(Finding{"hub", "certificates", path, "SSL_CERT_FILE", "", ""});
  struct stat status {};
  const bool there = stat(path.c_str(), &status) == 0;
  if (!there || !S_ISREG(status.st_mode) || access(path.c_str(), R_OK) != 0) {
    found.Problem(FindingStatus::kError,
                  !there ? "the file is not there"
                         : (S_ISREG(status.st_mode) ? "it cannot be read" : "it is no file"),
                  "set SSL_CERT_FILE to a file of certificates, or unset it");
  }
}

std::string FirstPart(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string HelpOf(const std::string& text) {
  const size_t at = text.find("\nhelp: ");
  return at == std::string::npos ? "" : text.substr(at + 7);
}

}  // namespace

void FindStore(const GetEnv& get_env, Findings* findings) {
  std::string from;
  const std::optional<std::string> cache = CacheFolder(get_env, &from);
  Finding found{"store", "folder", cache.value_or(""), from, "", ""};
  if (!cache) {
    found.Problem(FindingStatus::kError, kNoHome, kNoHomeHelp);
    findings->push_back(std::move(found));
    return;
  }
  const std::string problem = CacheProblem(*cache);
  struct stat status {};
  const bool there = stat(cache->c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  if (!problem.empty()) {
    const bool variable = !from.empty();
    found.Problem(FindingStatus::kError, "it " + problem,
                  variable ? "set " + from + " to a folder, or unset it" : kNoHomeHelp);
  } else if (!there) {
    found.value += ", not there yet";
    if (cache->find('$') != std::string::npos || cache->starts_with('~')) {
      found.Problem(FindingStatus::kWarning, "a variable or user in its name is not known",
                    "set what " + from + " names, or write the folder out");
    }
  }
  findings->push_back(std::move(found));
  if (there) FindContent(*cache, findings);
  FindFreeSpace(*cache, findings);
}

void FindHub(const GetEnv& get_env, Findings* findings) {
  std::string error;
  // That file is looked at on its own, and must not hide the rest.
  const GetEnv without_certificates = [&](const char* name) {
    return std::string_view(name) == "SSL_CERT_FILE" ? nullptr : get_env(name);
  };
  const std::optional<HubSettings> settings = ReadHubSettings(without_certificates, &error);
  if (settings) {
    const bool set = !EnvText(get_env, "HF_ENDPOINT").empty();
    findings->push_back({"hub", "endpoint", settings->endpoint, set ? "HF_ENDPOINT" : "", "", ""});
    findings->push_back(
        {"hub", "token", settings->token.empty() ? "" : "there", settings->token_from, "", ""});
    const bool own = !EnvText(get_env, "HF_HUB_OFFLINE").empty();
    findings->push_back({"hub", "network", settings->offline ? "off" : "on",
                         !settings->offline ? ""
                         : own              ? "HF_HUB_OFFLINE"
                                            : "TRANSFORMERS_OFFLINE",
                         "", ""});
  } else {
    Finding& found = findings->emplace_back(Finding{"hub", "settings", "", "", "", ""});
    const std::string help = HelpOf(error);
    found.Problem(
        FindingStatus::kError, FirstPart(error),
        help.empty() ? "set HF_ENDPOINT to a URL like https://huggingface.co, or unset it" : help);
  }
  FindProxies(get_env, findings);
  FindCertificates(get_env, findings);
}

std::optional<Environment> FindTrust(const GetEnv& get_env, Findings* findings) {
  std::vector<Diagnostic> diagnostics;
  std::string error;
  const std::optional<Environment> environment = ReadEnvironment(&diagnostics, &error);
  PrintDiagnostics(diagnostics);
  const std::string path = EnvText(get_env, "KERNELMAP_POLICY");
  const std::string hub = EnvText(get_env, "USE_HUB_KERNELS");
  const bool set = get_env("USE_HUB_KERNELS") != nullptr;
  Environment only_hub;
  if (set) only_hub.use_hub_kernels = hub;
  Finding use{"trust",
              "Hub kernels",
              only_hub.HubEnabled() ? "on" : "off",
              set ? "USE_HUB_KERNELS" : "",
              "",
              ""};
  if (!only_hub.HubEnabled()) {
    use.Problem(FindingStatus::kWarning, "no kernel of the Hub is used",
                "set USE_HUB_KERNELS to 1, or unset it");
  }
  findings->push_back(std::move(use));
  if (path.empty()) {
    findings->push_back({"trust", "policy", "", "", "", ""});
    return environment;
  }
  Finding policy{"trust", "policy", path, "KERNELMAP_POLICY", "", ""};
  if (!environment) {
    policy.Problem(FindingStatus::kError,
                   error.empty() ? "it has errors, so that nothing is trusted" : FirstPart(error),
                   error.empty() ? "correct it" : "set KERNELMAP_POLICY to a file, or unset it");
  } else if (!environment->policy->allow_all_kernels &&
             environment->policy->trusted_publishers.empty()) {
    policy.Problem(FindingStatus::kWarning, "it trusts nobody: no kernel of the Hub loads",
                   "name publishers in its trusted_publishers");
  }
  findings->push_back(std::move(policy));
  return environment;
}

}  // namespace kernelmap
