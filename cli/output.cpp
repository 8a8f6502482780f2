#include "cli/output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace kernelmap {
namespace {

// What an interrupt removes: a plain array, because a signal handler reads it.
char half_written[PATH_MAX];

void OnInterrupt(int) {
  if (half_written[0] != '\0') unlink(half_written);
  _exit(130);
}

sigset_t Interrupts() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

void SetHalfWritten(const std::string& path) {
  if (path.size() >= sizeof half_written) return;
  std::memcpy(half_written, path.c_str(), path.size() + 1);
}

bool WriteAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

int Failed(const std::string& output) {
  return UsageError("cannot write `" + output + "`: " + std::strerror(errno));
}

}  // namespace

int WriteResult(const std::string& output, std::string_view text, bool final) {
  if (output == "-") {
    std::fflush(stdout);
    return WriteAll(STDOUT_FILENO, text) ? 0 : Failed("standard output");
  }
  struct stat existing {};
  if (stat(output.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode)) {
    // A device or pipe cannot be replaced, only written to.
    std::FILE* file =
        S_ISDIR(existing.st_mode) ? (errno = EISDIR, nullptr) : std::fopen(output.c_str(), "wb");
    if (!file) return Failed(output);
    const bool written = WriteAll(fileno(file), text);
    return std::fclose(file) == 0 && written ? 0 : Failed(output);
  }
  std::string temporary = output + ".XXXXXX";
  const int descriptor = mkstemp(temporary.data());
  if (descriptor < 0) return Failed(output);
  SetHalfWritten(temporary);
  const mode_t mask = umask(0);
  umask(mask);
  bool fine =
      fchmod(descriptor, 0666 & ~mask) == 0 && WriteAll(descriptor, text) && fsync(descriptor) == 0;
  const int error = errno;
  fine = close(descriptor) == 0 && fine;
  if (fine) {
    // An interrupt comes before the name or after it, not in between.
    const sigset_t interrupts = Interrupts();
    sigset_t before;
    sigprocmask(SIG_BLOCK, &interrupts, &before);
    const bool named = rename(temporary.c_str(), output.c_str()) == 0;
    const int rename_error = errno;
    if (named) SetHalfWritten("");
    if (!named || !final) sigprocmask(SIG_SETMASK, &before, nullptr);
    if (named) return 0;
    errno = rename_error;
  }
  if (!fine) errno = error;
  const int code = Failed(output);
  unlink(temporary.c_str());
  SetHalfWritten("");
  return code;
}

TemporaryFile::TemporaryFile(std::string_view stem, std::string_view suffix,
                             std::string_view content) {
  std::error_code ignored;
  path_ = std::filesystem::temp_directory_path(ignored) / stem;
  path_ += "-XXXXXX";
  path_ += suffix;
  const int descriptor = mkstemps(path_.data(), static_cast<int>(suffix.size()));
  if (descriptor < 0) {
    exit_code_ = Failed(path_);
    path_.clear();
    return;
  }
  SetHalfWritten(path_);
  if (!WriteAll(descriptor, content)) exit_code_ = Failed(path_);
  close(descriptor);
}

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) unlink(path_.c_str());
  SetHalfWritten("");
}

void ExitOnInterrupt() {
  std::signal(SIGINT, OnInterrupt);
  std::signal(SIGTERM, OnInterrupt);
  const sigset_t interrupts = Interrupts();
  sigprocmask(SIG_UNBLOCK, &interrupts, nullptr);
}

void HoldInterrupts() {
  const sigset_t interrupts = Interrupts();
  sigprocmask(SIG_BLOCK, &interrupts, nullptr);
}

void PrintDiagnostics(const std::vector<Diagnostic>& diagnostics) {
  const char* no_color = std::getenv("NO_COLOR");
  const bool color = isatty(STDERR_FILENO) && !(no_color && *no_color);
  std::fputs(DiagnosticsToText(diagnostics, color).c_str(), stderr);
}

int UsageError(const std::string& message) {
  std::fprintf(stderr, "kernelmap: error: %s\n", message.c_str());
  return 2;
}

}  // namespace kernelmap
