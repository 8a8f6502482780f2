#include "cli/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>

#include "compiler/display.h"
#include "compiler/write_all.h"

namespace kernelmap {
namespace {

constexpr std::chrono::milliseconds kReaderTime(1000);  // for a pipe's reader to turn up

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

int Failed(const std::string& output) {
  return UsageError("cannot write `" + output + "`: " + std::strerror(errno));
}

int Refused(const std::string& output, const char* why) {
  return UsageError("cannot write `" + output + "`: " + why);
}

// Opens a pipe that has a reader, or gets one soon; a device or folder as it is.
int OpenInPlace(const std::string& output, bool pipe) {
  constexpr int kFlags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  constexpr std::chrono::milliseconds kStep(20);
  int descriptor = open(output.c_str(), kFlags);
  for (auto left = kReaderTime; pipe && descriptor < 0 && errno == ENXIO && left > left.zero();
       left -= kStep) {
    std::this_thread::sleep_for(kStep);
    descriptor = open(output.c_str(), kFlags);
  }
  if (descriptor >= 0) fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  return descriptor;
}

// A device or pipe cannot be replaced, only written to. None is waited for: a pipe that nobody
// reads is refused.
int WriteInPlace(const std::string& output, const struct stat& existing, std::string_view text) {
  if (S_ISSOCK(existing.st_mode)) return Refused(output, "a socket");
  if (S_ISBLK(existing.st_mode)) return Refused(output, "a block device");
  const bool pipe = S_ISFIFO(existing.st_mode);
  const int descriptor = OpenInPlace(output, pipe);
  if (descriptor < 0 && pipe && errno == ENXIO) return Refused(output, "nothing reads this pipe");
  if (descriptor < 0) return Failed(output);
  const bool written = WriteAll(descriptor, text);
  const int error = errno;
  const bool closed = close(descriptor) == 0;
  if (!written) errno = error;
  return written && closed ? 0 : Failed(output);
}

}  // namespace

int WriteResult(const std::string& output, std::string_view text, bool final) {
  if (output == "-") {
    std::fflush(stdout);
    return WriteAll(STDOUT_FILENO, text) ? 0 : Failed("standard output");
  }
  struct stat existing {};
  if (stat(output.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode)) {
    return WriteInPlace(output, existing, text);
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

void IgnoreWriteSignals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
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

bool WantsColor(int descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(descriptor) && !(no_color && *no_color);
}

void PrintDiagnostics(const std::vector<Diagnostic>& diagnostics) {
  std::fputs(DiagnosticsToText(diagnostics, WantsColor(STDERR_FILENO)).c_str(), stderr);
}

int UsageError(const std::string& message) {
  // What is quoted may hold ends of lines; only the help is a line of its own, and it comes last.
  const size_t help = std::min(message.rfind("\nhelp: "), message.size());
  std::string text = Printable(std::string_view(message).substr(0, help));
  if (help < message.size()) {
    text += "\n" + Printable(std::string_view(message).substr(help + 1));
  }
  std::fprintf(stderr, "kernelmap: error: %s\n", text.c_str());
  return 2;
}

}  // namespace kernelmap
